#include "environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>

#include "json.h"

namespace muster::core {
namespace {

constexpr const char* kStorage = "MUSTER_CHECKPOINT_STORAGE";

[[noreturn]] void wrong(const std::string& name, const std::string& text, const std::string& what) {
  throw std::invalid_argument(name + " is '" + text + "'; it is " + what);
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

/// Typed looks at the variables that are not empty.
class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  bool has(const std::string& name) const { return text(name).has_value(); }

  std::optional<std::string> text(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }

  std::optional<std::filesystem::path> path(const std::string& name) const {
    const auto found = text(name);
    return found ? std::optional<std::filesystem::path>(*found) : std::nullopt;
  }

  std::optional<std::int64_t> whole(const std::string& name, std::int64_t smallest) const {
    const auto found = text(name);
    if (!found) return std::nullopt;
    std::int64_t number = 0;
    const char* end = found->data() + found->size();
    const auto [rest, error] = std::from_chars(found->data(), end, number);
    if (error != std::errc() || rest != end || number < smallest) {
      wrong(name, *found, "a whole number of " + std::to_string(smallest) + " or more");
    }
    return number;
  }

  std::optional<double> seconds(const std::string& name) const {
    const auto found = text(name);
    if (!found) return std::nullopt;
    char* rest = nullptr;
    const double number = std::strtod(found->c_str(), &rest);
    if (*rest != '\0' || !std::isfinite(number) || number < 0)
      wrong(name, *found, "a number of seconds");
    return number;
  }

  std::string required(const std::string& name) const {
    const auto found = text(name);
    if (!found)
      throw std::invalid_argument(
          name +
          " is not set, but DET_SESSION_TOKEN and DET_TRIAL_ID are: a trial has all of them");
    return *found;
  }

 private:
  const Variables& variables_;
};

/// http://host:port/prefix.
void read_url(const std::string& url, Controller& out) {
  constexpr const char* kForm = "of the form http://host:port";
  if (!begins(url, "http://")) wrong("DET_MASTER", url, kForm);
  const std::string rest = url.substr(7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string place = rest.substr(0, slash);
  out.prefix = rest.substr(slash);
  while (!out.prefix.empty() && out.prefix.back() == '/') out.prefix.pop_back();
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos && place.find(']', colon) == std::string::npos) {
    const std::string port = place.substr(colon + 1);
    place.resize(colon);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size() || out.port < 1 ||
        out.port > 65535)
      wrong("DET_MASTER", url, kForm);
  }
  if (place.size() > 1 && place.front() == '[' && place.back() == ']')
    place = place.substr(1, place.size() - 2);
  if (place.empty() || out.prefix.find_first_of("?#") != std::string::npos)
    wrong("DET_MASTER", url, kForm);
  out.host = place;
  out.url = url;
}

/// That of a trial's task, which alone has a token and a trial.
std::optional<Controller> read_controller(const Reader& reader) {
  if (!reader.has("DET_SESSION_TOKEN") || !reader.has("DET_TRIAL_ID")) return std::nullopt;
  Controller out;
  read_url(reader.required("DET_MASTER"), out);
  reader.required("DET_TRIAL_RUN_ID");
  out.token = *reader.text("DET_SESSION_TOKEN");
  out.trial = *reader.whole("DET_TRIAL_ID", 1);
  out.run = *reader.whole("DET_TRIAL_RUN_ID", 1);
  out.allocation = reader.required("DET_ALLOCATION_ID");
  out.task = reader.required("DET_TASK_ID");
  out.latest_checkpoint = reader.text("DET_LATEST_CHECKPOINT");
  out.retry_timeout_s =
      reader.seconds("MUSTER_CONTROLLER_RETRY_TIMEOUT").value_or(out.retry_timeout_s);
  return out;
}

Value json_or_text(const std::string& text) {
  try {
    return parse_json("", text);
  } catch (const std::invalid_argument&) {
    return text;
  }
}

/// MUSTER_HPARAMS whole; without it MUSTER_HP_<NAME>, names in lower case, values as JSON where
/// they are.
Value read_hparams(const Variables& variables, const Reader& reader) {
  if (const auto text = reader.text("MUSTER_HPARAMS")) {
    Value hparams = parse_json("MUSTER_HPARAMS", *text);
    if (!std::holds_alternative<Value::Map>(hparams.data()))
      wrong("MUSTER_HPARAMS", *text, "a JSON object");
    return hparams;
  }
  constexpr const char* kPrefix = "MUSTER_HP_";
  Value::Map out;
  for (const auto& [variable, text] : variables) {
    if (!begins(variable, kPrefix) || text.empty()) continue;
    std::string name = variable.substr(std::char_traits<char>::length(kPrefix));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.emplace(std::move(name), json_or_text(text));
  }
  return out;
}

int read_signal(const Reader& reader) {
  const std::string text = reader.text("MUSTER_STOP_SIGNAL").value_or("SIGTERM");
  const std::string name = begins(text, "SIG") ? text : "SIG" + text;
  for (const auto& [known, number] : {std::pair("SIGTERM", SIGTERM),
                                      {"SIGUSR1", SIGUSR1},
                                      {"SIGUSR2", SIGUSR2},
                                      {"SIGINT", SIGINT},
                                      {"SIGHUP", SIGHUP}}) {
    if (name == known) return number;
  }
  wrong("MUSTER_STOP_SIGNAL", text, "one of SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP");
}

std::optional<MaxLength> read_max_length(const Reader& reader) {
  const auto text = reader.text("MUSTER_MAX_LENGTH");
  if (!text) return std::nullopt;
  Value value = parse_json("MUSTER_MAX_LENGTH", *text);
  MaxLength out;
  if (const auto* map = std::get_if<Value::Map>(&value.data());
      map != nullptr && map->size() == 1) {
    out.unit = map->begin()->first;
    Value only = map->begin()->second;
    value = std::move(only);
  }
  if (value.is_number()) out.length = value.as_double();
  if (!(out.length > 0) || std::isinf(out.length))
    wrong("MUSTER_MAX_LENGTH", *text, "a positive number or one unit with it: {\"epochs\": 64}");
  return out;
}

}  // namespace

std::filesystem::path read_storage(const std::string& what, const std::string& text) {
  const auto refuse = [&what](const std::string& type) {
    throw std::invalid_argument(
        what + ": storage of type " + type +
        " is not there in C++; give a folder that all nodes share, or use the Python package");
  };
  if (begins(text, "s3://")) refuse("s3");
  if (text.empty() || text.front() != '{') return text;
  Value storage;
  try {
    storage = parse_json(what, text);
  } catch (const std::invalid_argument&) {  // the text may hold keys, and is not shown
    throw std::invalid_argument(what + " is no JSON");
  }
  const std::string type = storage.get("type", "");
  if (type == "directory") return storage["container_path"].as_text();
  if (type != "shared_fs") refuse(type.empty() ? "unknown" : type);
  const std::filesystem::path host = storage["host_path"].as_text();
  return host / storage.get("storage_path", "");
}

Environment read_environment(const Variables& variables) {
  const Reader reader(variables);
  Environment out;
  out.controller = read_controller(reader);
  out.hparams = read_hparams(variables, reader);
  out.resume_from = reader.text("MUSTER_RESUME_FROM");
  out.stop_file = reader.path("MUSTER_STOP_FILE");
  out.deadline = reader.seconds("MUSTER_DEADLINE");
  out.deadline_margin_s = reader.seconds("MUSTER_DEADLINE_MARGIN").value_or(out.deadline_margin_s);
  out.stop_signal = read_signal(reader);
  out.run_dir = reader.path("MUSTER_RUN_DIR");
  out.run_id = reader.whole("MUSTER_RUN_ID", 1);
  if (!out.run_id && out.controller) out.run_id = out.controller->run;
  out.seed = static_cast<std::uint64_t>(reader.whole("MUSTER_SEED", 0).value_or(0));
  out.restart_count = reader.whole("SLURM_RESTART_COUNT", 0);
  out.job_id = reader.whole("SLURM_JOB_ID", 1);
  out.cluster_id = reader.text("MUSTER_CLUSTER_ID");
  out.max_length = read_max_length(reader);
  out.searcher_metric = reader.text("MUSTER_SEARCHER_METRIC").value_or("");
  if (const auto storage = reader.text(kStorage))
    out.checkpoint_storage = read_storage(kStorage, *storage);
  out.source_checkpoint = reader.text("MUSTER_SOURCE_CHECKPOINT");
  return out;
}

Variables own_variables() {
  Variables out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace muster::core
