// Every number that an option takes, at its bounds and past them: what does not fit is refused, and
// never taken for the number that its lower bits are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "cli/lib/testing.h"
#include "cli/slurm/submit_options.h"

namespace muster::cli {
namespace {

using namespace testing;

/// How options with a form of their own write a number; "{}" is the number alone.
const std::multimap<std::string, std::string> kForms = {
    {"array", "1-{}"},
    {"array", "1-9:{}"},
    {"array", "1-9%{}"},
    {"begin", "now+{}"},
    {"begin", "now+{}minutes"},
    {"begin", "now+{}hours"},
    {"begin", "now+{}days"},
    {"begin", "now+{}weeks"},
    {"deadline", "now+{}minutes"},
    {"dependency", "afterok:{}"},
    {"dependency", "after:1+{}"},
    {"dependency", "afterany:1_{}"},
    {"distribution", "plane={}"},
    {"exclude", "n[1-{}]"},
    {"extra-node-info", "{}:1:1"},
    {"extra-node-info", "1:{}:1"},
    {"extra-node-info", "1:1:{}"},
    {"gpu-bind", "single:{}"},
    {"gpu-bind", "per_task:{}"},
    {"gpu-bind", "map:{}"},
    {"gpus", "h100:{}"},
    {"gpus", "{}K"},
    {"gres", "gpu:{}"},
    {"gres", "gpu:h100:{}K"},
    {"mail-type", "TIME_LIMIT_{}"},
    {"mem", "{}G"},
    {"mem", "{}T"},
    {"mem-per-cpu", "{}T"},
    {"mem-per-gpu", "{}T"},
    {"nodes", "{}K"},
    {"nodes", "1-{}"},
    {"ntasks", "{}K"},
    {"ntasks-per-tres", "gpu:{}"},
    {"signal", "{}"},
    {"signal", "USR1@{}"},
    {"signal", "B:USR1@{}"},
    {"time", "0:{}"},
    {"time", "{}:00:00"},
    {"time", "{}-0"},
    {"tmp", "{}T"},
    {"tres-per-task", "cpu={}"},
    {"tres-per-task", "gres/gpu={}"},
};

/// Their values are texts, or words of a list: a number is one like any other.
const std::set<std::string> kTexts = {
    "account",   "comment", "chdir",    "constraint",  "error",     "export",   "export-file",
    "extra",     "input",   "job-name", "licenses",    "mail-user", "nodelist", "output",
    "partition", "prefer",  "qos",      "reservation", "wckey",     "wrap",     "exclude"};

/// Yes or no: every number but 0 says yes.
const std::set<std::string> kYesOrNo = {"requeue", "kill-on-bad-exit"};

/// What means something after all: no limit, a higher rank, the fifth of January, hexadecimal.
const std::set<std::string> kMeant = {"time=-1", "nice=-1", "begin=1.5", "deadline=1.5",
                                      "gpu-bind=map:0x1"};

auto meaning(const SubmitOptions& options) {
  return std::tuple(options.job, options.step, options.gres, options.gpus_per_node, options.gpus,
                    options.gpus_per_task, options.inside, options.umask, options.immediate_seconds,
                    options.kill_signal, options.ignored_signals, options.licenses,
                    options.reservation);
}

/// Nullopt: refused.
std::optional<SubmitOptions> accepted(Submitter by, const std::string& option,
                                      const std::string& value) {
  SubmitOptions options;
  options.by = by;
  options.context = test_context();
  ::testing::internal::CaptureStderr();
  const Console console("x");
  const ReadWords read =
      SubmitReader(console, options)
          .read({fmt::format("--{}={}", option, value)}, OptionSource::kCommandLine);
  ::testing::internal::GetCapturedStderr();
  if (read.exit_code) return std::nullopt;
  return options;
}

std::vector<std::string> forms_of(const std::string& option) {
  std::vector<std::string> forms = {"{}"};
  const auto [first, last] = kForms.equal_range(option);
  for (auto form = first; form != last; ++form) forms.push_back(form->second);
  return forms;
}

template <class Test>
void for_each_form(Test&& test) {
  for (const SubmitRow& row : submit_rows()) {
    if (row.set == nullptr || row.takes == Takes::kNothing || kYesOrNo.contains(row.name)) continue;
    for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate}) {
      if (!has_option(row, by)) continue;
      for (const std::string& form : forms_of(row.name)) test(by, row.name, form);
    }
  }
}

std::string written(const std::string& form, const std::string& number) {
  return fmt::format(fmt::runtime(form), number);
}

TEST(NumberBounds, WhatNoNumberHoldsIsRefused) {
  for_each_form([](Submitter by, const std::string& option, const std::string& form) {
    if (kTexts.contains(option)) return;
    for (const char* number :
         {"18446744073709551616", "99999999999999999999999999", "-1", "1e3", "0x1", "1.5", "+1"}) {
      const std::string value = written(form, number);
      if (kMeant.contains(fmt::format("{}={}", option, value))) continue;
      EXPECT_FALSE(accepted(by, option, value).has_value()) << "--" << option << '=' << value;
    }
  });
}

TEST(NumberBounds, ANumberIsNeverTakenForItsLowerBits) {
  for_each_form([](Submitter by, const std::string& option, const std::string& form) {
    if (kTexts.contains(option)) return;
    for (const unsigned bits : {8U, 16U, 31U, 32U, 63U}) {
      for (const std::uint64_t low : {0U, 1U, 2U, 9U}) {
        const auto small = accepted(by, option, written(form, std::to_string(low)));
        const std::string value = written(form, std::to_string(low + (std::uint64_t{1} << bits)));
        const auto large = accepted(by, option, value);
        if (!small || !large) continue;
        EXPECT_NE(meaning(*small), meaning(*large)) << "--" << option << '=' << value;
      }
    }
  });
}

}  // namespace
}  // namespace muster::cli
