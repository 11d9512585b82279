// Three things are made here: the script, the same for all trials of an experiment; the variables,
// which differ; and bounds, found before submission by building the longest possible variables.
// The kernel refuses an environment that is too large with E2BIG only when a trial starts.

#include "trials/trial_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "text/json_text.h"
#include "text/launch_size.h"
#include "text/words.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

// Python's handler of SIGTERM saves a checkpoint; the shell in front of it must live until it has.
constexpr std::string_view kHead = R"(#!/bin/sh
# Starts a run of a trial. The command is in MUSTER_ENTRYPOINT, its code follows this text as an archive.
trap : TERM INT HUP USR1 USR2
give_up() {
  echo "muster: $1" >&2
  exit 1
}
)";
constexpr std::string_view kUnpack = R"(code="$MUSTER_RUN_DIR/code"
mkdir -p "$code" || give_up "cannot make the folder $code for the experiment's code"
tail -n +{} "$0" | tar -x{}f - -C "$code" || give_up "cannot unpack the experiment's code in $code"
cd "$code" || give_up "cannot enter $code"
)";
// What the entrypoint writes goes to the file alone: every node keeps it for the trial's logs. This
// script's own words, and srun's, are kept by the first. The srun is that of the node's own
// programs: PATH is the user's. A run that was asked to stop before its entrypoint began would
// never hear of it. The experiment's folder, with its code and logs, is its owner's until the
// experiment is opened to others.
constexpr std::string_view kRun = R"sh(case "${MUSTER_VISIBILITY:-}" in
  private) chmod go-rwx "${MUSTER_RUN_DIR%/*}" ;;
  project | cluster) chmod "$(umask -S)" "${MUSTER_RUN_DIR%/*}" ;;
esac
[ -e "${MUSTER_STOP_FILE:-/nonexistent}" ] && exit 0
if [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ]; then
  srun="${MUSTER_PROGRAMS:+$MUSTER_PROGRAMS/}srun"
  command -v "$srun" > /dev/null || give_up "cannot find $srun, which starts the entrypoint on every node"
  "$srun" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --output="$MUSTER_RUN_DIR/output.log" --open-mode=append \
    sh -c 'trap : TERM INT HUP USR1 USR2; eval "$MUSTER_ENTRYPOINT"'
else
  eval "$MUSTER_ENTRYPOINT"
fi
exit $?
)sh";

bool is_plain(std::string_view word) {
  constexpr std::string_view kPlain = "%+,-./:=@_";
  return !word.empty() && std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kPlain.find(c) != std::string_view::npos;
  });
}

/// A value as a script reads it: texts as they are, everything else as JSON.
std::string value_text(const Json& value) {
  return value.text() != nullptr ? *value.text() : json_text(value);
}

std::vector<std::string> split_path(std::string_view name) {
  std::vector<std::string> path;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    path.emplace_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return path;
}

/// Calls `replace(name)` for each {{hp.NAME}}; nothing: it stays.
std::string replaced(std::string_view line,
                     const std::function<std::optional<std::string>(std::string_view)>& replace) {
  // Not a template engine: a value that itself holds {{hp.}} is not looked at again.
  constexpr std::string_view kOpen = "{{hp.";
  std::string out;
  while (true) {
    const std::size_t begin = line.find(kOpen);
    const std::size_t end = begin == line.npos ? line.npos : line.find("}}", begin);
    if (end == line.npos) return out.append(line);
    out.append(line.substr(0, begin));
    const std::string_view name = line.substr(begin + kOpen.size(), end - begin - kOpen.size());
    const auto value = replace(name);
    out.append(value ? *value : std::string(line.substr(begin, end + 2 - begin)));
    line.remove_prefix(end + 2);
  }
}

/// MUSTER_HP_<NAME>: upper case, with _ for what a variable's name cannot hold; nested names are
/// joined by two.
void append_hparam_variables(const Json& value, const std::string& prefix,
                             std::vector<std::string>& out) {
  for (const Json::Member& member : *value.object()) {
    std::string name = prefix;
    for (const char c : member.name) {
      // Two names may become one variable, such as a-b and a_b; MUSTER_HPARAMS tells them apart.
      const auto byte = static_cast<unsigned char>(c);
      name += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
    }
    if (member.value.object() != nullptr) {
      append_hparam_variables(member.value, name + "__", out);
    } else {
      out.push_back(name + "=" + value_text(member.value));
    }
  }
}

constexpr std::size_t kHparamNameBytes =
    64;  ///< of the variables that hyperparameters are told in, at most
/// What a trial's hyperparameters may come to, each in a variable of its own.
/// A quarter of the usual 2 MiB for all arguments and variables. Source: execve(2).
constexpr std::size_t kHparamBytesMax = std::size_t{512} << 10;

/// Of what append_hparam_variables makes: a name is repeated for each of its members. Counted no
/// further than beyond `most`.
std::size_t hparam_variable_bytes(const Json& value, std::size_t prefix, std::size_t most) {
  std::size_t bytes = 0;
  for (const Json::Member& member : *value.object()) {
    if (bytes > most) break;
    // 2: the "__" or, at a leaf, "=" and NUL.
    const std::size_t name = prefix + member.name.size() + 2;
    bytes += member.value.object() != nullptr
                 ? hparam_variable_bytes(member.value, name, most - bytes)
                 : name + value_text(member.value).size();
  }
  return bytes;
}

/// Finds values by their names, those of members joined by dots. Cost: of each object that a name
/// leads through its members once, then O(log members).
class ValueFinder {
 public:
  explicit ValueFinder(const Json& root) : root_(root) {}
  const Json* find(std::string_view name) {
    const Json* here = &root_;
    while (here != nullptr) {
      const std::size_t end = std::min(name.find('.'), name.size());
      here = member(*here, name.substr(0, end));
      if (end == name.size()) return here;
      name.remove_prefix(end + 1);
    }
    return nullptr;
  }

 private:
  using Members = std::map<std::string_view, const Json*>;
  const Json* member(const Json& value, std::string_view name) {
    if (value.object() == nullptr) return nullptr;
    const auto [known, is_new] = members_.try_emplace(&value);
    if (is_new) {
      for (const Json::Member& one : *value.object())
        known->second.try_emplace(one.name, &one.value);
    }
    const auto found = known->second.find(name);
    return found == known->second.end() ? nullptr : found->second;
  }
  const Json& root_;
  std::map<const Json*, Members> members_;  ///< of objects that were looked into
};

/// The line with hyperparameters put in, counted no further than beyond `most` rather than written:
/// it may be a thousand times as long.
std::size_t expanded_bytes(std::string_view line, const Json& hparams, std::size_t most) {
  std::size_t bytes = line.size();
  ValueFinder values(hparams);
  replaced(line, [&](std::string_view name) -> std::optional<std::string> {
    const Json* value = bytes > most ? nullptr : values.find(name);
    if (value != nullptr) bytes += json_text(*value).size();
    return std::nullopt;
  });
  return bytes;
}

/// How often the line uses each name.
using NameCounts = std::map<std::vector<std::string>, std::size_t>;
NameCounts names_in(std::string_view line) {
  NameCounts counts;
  replaced(line, [&](std::string_view name) -> std::optional<std::string> {
    ++counts[split_path(name)];
    return std::nullopt;
  });
  return counts;
}

/// About how many bytes the value is as text; adds to `put_in` what it and its members add to a
/// line that uses them so often. Cost: O(value), whatever the line. `path`: the value's.
std::size_t text_bytes(const Json& value, const NameCounts& counts, std::vector<std::string>& path,
                       std::size_t& put_in) {
  std::size_t bytes = 0;
  if (const Json::Object* members = value.object()) {
    for (const Json::Member& member : *members) {
      path.push_back(member.name);
      // 6: quotes, colon and comma, with some room.
      bytes += member.name.size() + 6 + text_bytes(member.value, counts, path, put_in);
      path.pop_back();
    }
  } else {
    bytes = json_text(value).size();
  }
  if (const auto used = counts.find(path); used != counts.end()) put_in += used->second * bytes;
  return bytes;
}

/// Of what the domain has, the value that comes to the most bytes.
Json longest_value(const Hyperparameter& one,
                   const std::function<std::size_t(const Json&)>& bytes_of) {
  if (const auto* constant = std::get_if<ConstDomain>(&one.domain)) return constant->val;
  // The longest text that a double has: sign, 17 digits, point and a three-digit exponent.
  std::vector<Json> values{Json(-1.2345678901234567e-300)};
  if (const auto* choice = std::get_if<CategoricalDomain>(&one.domain)) values = choice->vals;
  // The longer of the ends is the longest number between them.
  if (const auto* whole = std::get_if<IntDomain>(&one.domain))
    values = {Json(whole->minval), Json(whole->maxval)};
  return *std::ranges::max_element(values, {}, bytes_of);
}

std::string length_text(std::string_view unit, std::uint64_t length) {
  return unit.empty() ? std::to_string(length)
                      : fmt::format("{{{}: {}}}", json_quoted(unit), length);
}

std::string bucket_of(const Json& config) {
  const Json* storage = config.find("checkpoint_storage");
  const Json* type = storage == nullptr ? nullptr : storage->find("type");
  if (type == nullptr || *type != Json("s3")) return {};
  Json::Object settings;
  for (const Json::Member& member : *storage->object()) {
    // No run reads save_*: how many checkpoints are kept is decided by the controller.
    if (!member.value.is_null() && !member.name.starts_with("save_")) settings.push_back(member);
  }
  return json_text(settings);
}

std::string profiling_of(const Json& config) {
  const Json* profiling = config.find("profiling");
  const Json* enabled = profiling == nullptr ? nullptr : profiling->find("enabled");
  if (enabled == nullptr || *enabled != Json(true)) return {};
  Json::Object settings;
  for (const std::string_view name : {"begin_on_batch", "end_after_batch"}) {
    const Json* value = profiling->find(name);
    if (value != nullptr && !value->is_null()) settings.push_back({std::string(name), *value});
  }
  return json_text(Json(std::move(settings)));
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  // A placeholder has to stay outside of quotes; its value is put in later, as it is.
  if (is_plain(word) || word.starts_with("{{hp.")) return std::string(word);
  std::string out = "'";
  // The quote ends, a quoted quote follows, and it begins again.
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

std::string s3_settings(const ExperimentSpec& spec) { return bucket_of(stored_json(spec.config)); }

TrialSettings trial_settings(const ExperimentSpec& spec) {
  const Json config = stored_json(spec.config);
  return {bucket_of(config), profiling_of(config)};
}

std::string checkpoint_root(const ExperimentSpec& spec) {
  return spec.run_folder.substr(0, spec.run_folder.rfind('/'));
}

std::string trial_script(std::string_view archive) {
  std::string script(kHead);
  if (!archive.empty()) {
    // RFC 1952: the two bytes that each gzip file begins with. BSD's tar would find out itself,
    // GNU's not from a pipe.
    const bool is_gzip = archive.starts_with("\x1f\x8b");
    const auto lines_of = [](std::string_view text) { return std::ranges::count(text, '\n'); };
    // The script's text has a fixed number of lines: tail begins at the first one behind it.
    const auto first = lines_of(kHead) + lines_of(kUnpack) + lines_of(kRun) + 1;
    std::string unpack(kUnpack);
    unpack.replace(unpack.find("{}"), 2, std::to_string(first));
    unpack.replace(unpack.find("{}"), 2, is_gzip ? "z" : "");
    script += unpack;
  }
  script += kRun;
  return script.append(archive);
}

std::string_view archive_in(std::string_view script) {
  if (script.find(kUnpack.substr(0, kUnpack.find('\n'))) != kHead.size()) return {};
  // Behind the line that the script itself names: what stands before it differs between versions.
  constexpr std::string_view kFrom = "tail -n +";
  const std::size_t from = script.find(kFrom, kHead.size());
  if (from == script.npos) return {};
  const std::string_view digits = script.substr(from + kFrom.size());
  // A script has some dozens of lines: a larger number is not ours.
  const auto line = parse_whole32(digits.substr(0, leading_digits(digits)), 1000);
  std::size_t begin = 0;
  for (std::uint32_t i = 1; line && i < *line; ++i) {
    const std::size_t end = script.find('\n', begin);
    if (end == script.npos) return {};
    begin = end + 1;
  }
  return line ? script.substr(begin) : std::string_view();
}

std::string entrypoint_line(const EntryPoint& entrypoint) {
  if (entrypoint.is_shell_line) return entrypoint.words.front();
  std::string line;
  for (const std::string& word : entrypoint.words)
    line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

std::string with_hparams(std::string_view line, const Json& hparams) {
  ValueFinder values(hparams);
  return replaced(line, [&](std::string_view name) -> std::optional<std::string> {
    const Json* value = values.find(name);
    return value == nullptr ? std::nullopt : std::optional(value_text(*value));
  });
}

std::vector<Json> longest_hparams(const HyperSpace& space, std::string_view entrypoint) {
  const NameCounts counts = names_in(entrypoint);
  std::vector<Json> all(3, Json(Json::Object{}));
  for (const Hyperparameter& one : space) {
    std::vector<std::string> path = one.path;
    all[0].at(one.path) =
        longest_value(one, [](const Json& value) { return json_text(value).size(); });
    std::size_t prefix = kHparamNameBytes;
    for (const std::string& name : one.path) prefix += name.size() + 2;
    all[1].at(one.path) = longest_value(one, [&](const Json& value) {
      if (value.object() == nullptr) return prefix + value_text(value).size();
      return hparam_variable_bytes(value, prefix, kHparamBytesMax);
    });
    all[2].at(one.path) = longest_value(one, [&](const Json& value) {
      std::size_t put_in = 0;
      text_bytes(value, counts, path, put_in);
      return put_in;
    });
  }
  return all;
}

std::size_t trial_variable_bytes(const ExperimentSpec& spec, const Trial& trial) {
  // For the variables that are not made of hyperparameters: ids, paths, tokens.
  constexpr std::size_t kOthers = 4096;
  const Json hparams = stored_json(trial.hparams);
  if (hparams.object() == nullptr) return kOthers;
  return kOthers + trial.hparams.size() +
         hparam_variable_bytes(hparams, kHparamNameBytes, kHparamBytesMax) +
         expanded_bytes(spec.entrypoint, hparams, kVariableBytesMax);
}

Status check_hparams_size(std::string_view entrypoint, const Json& hparams) {
  // Room for the name in front of the value, as the kernel counts both.
  constexpr std::size_t kMost = kVariableBytesMax - kHparamNameBytes;
  constexpr std::string_view kWayOut =
      "no program could be started with it: keep what is large in a file beside the code";
  const std::size_t bytes = json_text(hparams).size();
  if (bytes > kMost) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the hyperparameters of one trial come to {} bytes, more than {}",
                            bytes, kMost),
                std::string(kWayOut));
  }
  if (hparam_variable_bytes(hparams, kHparamNameBytes, kHparamBytesMax) > kHparamBytesMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the hyperparameters of one trial, each told in a variable of its own, "
                            "come to more than {} KiB",
                            kHparamBytesMax >> 10),
                "give nested ones shorter names, or keep them in a file beside the code");
  }
  if (expanded_bytes(entrypoint, hparams, kMost) <= kMost) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("the entrypoint, with hyperparameters put in, comes to more than {} bytes",
                  kMost),
      std::string(kWayOut));
}

std::vector<std::string> unknown_hparams(std::string_view line, const HyperSpace& space) {
  using Path = std::vector<std::string>;
  std::vector<const Path*> known;
  for (const Hyperparameter& one : space) known.push_back(&one.path);
  // Pointers are sorted, for paths are long and there may be thousands.
  const auto in_order = [](const Path* a, const Path* b) { return *a < *b; };
  std::ranges::sort(known, in_order);
  std::vector<std::string> unknown;
  replaced(line, [&](std::string_view name) -> std::optional<std::string> {
    const Path path = split_path(name);
    // Those that begin with it follow it.
    const auto next = std::ranges::lower_bound(known, &path, in_order);
    const bool is_known = next != known.end() && (*next)->size() >= path.size() &&
                          std::ranges::equal(path, std::span(**next).first(path.size()));
    if (!is_known) unknown.emplace_back(name);
    return std::nullopt;
  });
  return unknown;
}

std::string trial_folder(const ExperimentSpec& spec, TrialId trial) {
  return fmt::format("{}/trial-{}", spec.run_folder, trial.value());
}

Result<std::vector<std::string>> trial_variables(const Experiment& experiment, const Trial& trial,
                                                 std::uint32_t run, const TrialSettings& settings) {
  const ExperimentSpec& spec = *experiment.spec;
  const Json stored = stored_json(trial.hparams);
  const Json hparams = stored.object() != nullptr ? stored : Json(Json::Object{});
  // Although the form has checked it: a custom search sends hyperparameters that no form has seen.
  TRY(check_hparams_size(spec.entrypoint, hparams));
  std::vector<std::string> out;
  const auto add = [&out](std::string_view name, const auto& value) {
    out.push_back(fmt::format("{}={}", name, value));
  };
  add("MUSTER_EXPERIMENT_ID", experiment.id.value());
  add("MUSTER_TRIAL_ID", trial.id.value());
  add("MUSTER_RUN_ID", run);
  add("MUSTER_RUN_DIR", trial_folder(spec, trial.id));
  add("MUSTER_VISIBILITY",
      kVisibilityNames[static_cast<std::size_t>(experiment.labels.visibility)]);
  add("MUSTER_SEED", trial.seed);
  add("MUSTER_SLOTS", slots_of(trial, spec));
  add("MUSTER_SEARCHER_METRIC", spec.metric);
  if (!spec.time_metric.empty()) add("MUSTER_TIME_METRIC", spec.time_metric);
  // A target that its search gave it comes before the length in the file.
  const std::uint64_t length = trial.target.value_or(spec.trial_length);
  if (length > 0) add("MUSTER_MAX_LENGTH", length_text(spec.time_metric, length));
  add("MUSTER_ENTRYPOINT", with_hparams(spec.entrypoint, hparams));
  add("MUSTER_HPARAMS", trial.hparams);
  append_hparam_variables(hparams, "MUSTER_HP_", out);
  add("MUSTER_CHECKPOINT_STORAGE",
      settings.bucket.empty() ? checkpoint_root(spec) : settings.bucket);
  if (!trial.source.empty()) add("MUSTER_SOURCE_CHECKPOINT", trial.source);
  if (!settings.profiling.empty()) add("MUSTER_PROFILING", settings.profiling);
  // Trackers of others go on with one run of theirs for all runs of a trial.
  add("WANDB_RUN_ID", fmt::format("muster-{}-{}", experiment.id.value(), trial.id.value()));
  add("WANDB_RESUME", "allow");
  return out;
}

}  // namespace muster
