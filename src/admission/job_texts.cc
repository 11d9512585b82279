// Each text has a greatest length and is one line, unless it is a path, a command or the like:
// texts are shown in tables and logs of other people.
#include "admission/job_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.h"

namespace muster::admission {
namespace {

constexpr std::size_t kPathMax = 4096;  // PATH_MAX
constexpr std::size_t kWordMax = 1024;
constexpr std::size_t kListMax = std::size_t{16} << 10;
constexpr std::size_t kHostsMax = std::size_t{64} << 10;
// MAX_ARG_STRLEN: as much as Linux lets one argument have.
constexpr std::size_t kCommandMax = std::size_t{128} << 10;
constexpr std::size_t kProgramMax = std::size_t{1} << 20;  ///< of a --multi-prog file

/// What a text may be. `name`: as the user knows it; empty: one that programs make.
struct TextRule {
  std::string_view name;
  std::size_t size_max = kWordMax;
  bool is_line = true;  ///< one line without control characters
};

TextRule rule_of(JobText key) {
  switch (key) {
    case JobText::kName: return {"job name"};
    case JobText::kAccount: return {"account"};
    case JobText::kPartition: return {"partition"};
    case JobText::kQos: return {"qos"};
    case JobText::kWckey: return {"wckey"};
    case JobText::kComment: return {"comment"};
    case JobText::kAdminComment: return {"admin comment"};
    case JobText::kExtra: return {"extra"};
    case JobText::kMailUser: return {"mail user"};
    case JobText::kFeatures: return {"constraint"};
    case JobText::kPrefer: return {"prefer"};
    case JobText::kSubmitHost: return {"submit host"};
    case JobText::kWorkDir:
    case JobText::kSubmitDir: return {"working directory", kPathMax, false};
    case JobText::kStdOut: return {"output path", kPathMax, false};
    case JobText::kStdErr: return {"error path", kPathMax, false};
    case JobText::kStdIn: return {"input path", kPathMax, false};
    case JobText::kNodeList: return {"node list", kHostsMax};
    case JobText::kExcludeList: return {"excluded nodes", kHostsMax};
    case JobText::kDependency: return {"dependency", kCommandMax};
    case JobText::kCommand: return {"command", kCommandMax, false};
    case JobText::kSubmitLine: return {"command line", kCommandMax, false};
    case JobText::kScriptArgs: return {"script's arguments", kCommandMax, false};
    case JobText::kExport: return {"export", kListMax, false};
    case JobText::kRlimits: return {"limits", kListMax};
    case JobText::kArray: return {"array", kListMax};
    default: return {"option"};
  }
}

TextRule rule_of(StepText key) {
  switch (key) {
    case StepText::kName: return {"step name"};
    case StepText::kComment: return {"comment"};
    case StepText::kCommand: return {"command", kCommandMax, false};
    case StepText::kSubmitLine: return {"command line", kCommandMax, false};
    case StepText::kWorkDir: return {"working directory", kPathMax, false};
    case StepText::kStdOut: return {"output path", kPathMax, false};
    case StepText::kStdErr: return {"error path", kPathMax, false};
    case StepText::kStdIn: return {"input path", kPathMax, false};
    case StepText::kTaskProlog:
    case StepText::kTaskEpilog: return {"task prolog or epilog", kPathMax, false};
    case StepText::kIoAddress: return {"address", kPathMax};
    case StepText::kNodeList: return {"node list", kHostsMax};
    case StepText::kExcludeList: return {"excluded nodes", kHostsMax};
    case StepText::kCpuBind:
    case StepText::kGpuBind: return {"binding", kHostsMax};
    case StepText::kMultiProg: return {"multi-prog file", kProgramMax, false};
    default: return {"option"};
  }
}

Status check_text(const TextRule& rule, std::string_view text) {
  // Slurm's ESLURM_PATHNAME_TOO_LONG, which stands for other parameters, too.
  if (text.size() > rule.size_max) {
    return fail(ErrorCode::kInvalidArgument,
                "Pathname of a file, directory or other parameter too long",
                fmt::format("{}: '{}...' has {} characters, {} are allowed", rule.name,
                            text.substr(0, 32), text.size(), rule.size_max));
  }
  if (rule.is_line && !is_one_line(text)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: it has control characters", rule.name), "give one line of text");
  }
  return {};
}

template <class Spec, class Key>
Status check_all(const Spec& spec) {
  // Every text of the pack: a new one has the strictest rule until it is given its own.
  for (unsigned i = 0; i < TextPack<Key>::kSize; ++i) {
    const auto key = static_cast<Key>(i);
    TRY(check_text(rule_of(key), spec.get(key)));
  }
  return {};
}

}  // namespace

bool is_one_line(std::string_view text) {
  // A tab is let in; whatever else moves a cursor is not.
  if (std::ranges::any_of(text,
                          [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }))
    return false;
  while (!text.empty()) {
    // Names in other encodings are let in, but for what terminals of those obey.
    const std::size_t size = utf8_character_size(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0 ? first >= 0x80 && first <= 0x9f : !is_plain_utf8(text.substr(0, size)))
      return false;
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return true;
}

Status check_texts(const JobSpec& spec) {
  TRY((check_all<JobSpec, JobText>(spec)));
  // MailProg would take it for an option.
  if (!spec.get(JobText::kMailUser).starts_with('-')) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("mail user: '{}' is no address", spec.get(JobText::kMailUser)),
              "it begins with a dash");
}

Status check_texts(const StepSpec& spec) {
  TRY((check_all<StepSpec, StepText>(spec)));
  const std::string_view address = spec.get(StepText::kIoAddress);
  // Sockets of this machine alone, because the supervisor dials what stands here.
  if (address.empty() || address.starts_with("unix:/")) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("address: '{}' is not where an srun of this machine listens", address),
              "use unix:/PATH");
}

}  // namespace muster::admission
