// `init()` and what it gives: the parts of one run, opened in order and closed in reverse.
#include <atomic>
#include <cmath>
#include <vector>

#include "checkpoint_log.h"
#include "json.h"
#include "log.h"
#include "muster/core.hpp"
#include "record.h"
#include "shipper.h"
#include "stops.h"

namespace muster::core {
namespace {

constexpr std::size_t kRowsWaiting = 1000;
constexpr std::size_t kRowsWaitingOutage = 100'000;  // while a controller restarts

std::atomic<bool> is_run_open{false};

Resources resources_or_none(const Announced& announced) {
  return announced.storage.is_whole(announced.uuid) ? announced.storage.resources(announced.uuid)
                                                    : Resources{};
}

/// 64-bit numbers are texts on the wire.
Value sizes_of(const Resources& resources) {
  Value::Map out;
  for (const auto& [path, size] : resources) out.emplace(path, std::to_string(size));
  return out;
}

/// Tells the controller of each event of a checkpoint before the run folder keeps it.
class Announcer {
 public:
  explicit Announcer(const Controller& controller)
      : controller_(controller), session_(controller) {}

  void start() {
    session_.call("POST", "/runs/start",
                  Value::Map{{"runId", controller_.trial}, {"checkpointStorage", Value()}});
  }

  void report(const std::string& event, const Announced& announced) {
    try {
      if (event == "announced") return post(announced, "STATE_ACTIVE", Value::Map{}, {});
      if (event == "completed")
        return post(announced, "STATE_COMPLETED", announced.storage.metadata(announced.uuid),
                    announced.storage.resources(announced.uuid));
      const Value resources = Value::Map{
          {"resources", sizes_of(event == "deleted" ? Resources{} : resources_or_none(announced))}};
      Value::List patches{Value::Map{{"uuid", announced.uuid}, {"resources", resources}}};
      session_.call("PATCH", "/checkpoints", Value::Map{{"checkpoints", std::move(patches)}});
    } catch (const ControllerError& error) {
      // What a start finds that an earlier run could not tell is told with good will: the files are
      // what they are.
      if (!is_recovering || !error.status) throw;
      log_line("checkpoint " + announced.uuid + " of an earlier run is " + event +
               ", but: " + error.what());
    }
  }

  bool is_recovering = true;

 private:
  void post(const Announced& announced, const char* state, const Value& metadata,
            const Resources& resources) {
    session_.call("POST", "/checkpoints",
                  Value::Map{{"uuid", announced.uuid},
                             {"taskId", controller_.task},
                             {"allocationId", allocation_of(announced.run)},
                             {"metadata", metadata},
                             {"resources", sizes_of(resources)},
                             {"reportTime", time_text(now())},
                             {"state", state},
                             {"storageId", Value()},
                             {"training", Value::Map{}}});
  }

  /// The run that wrote a checkpoint, whichever tells of it.
  std::string allocation_of(std::int64_t run) const {
    const std::string own = "." + std::to_string(controller_.run);
    const std::string& name = controller_.allocation;
    const bool is_own =
        name.size() > own.size() && name.compare(name.size() - own.size(), own.size(), own) == 0;
    return is_own ? name.substr(0, name.size() - own.size() + 1) + std::to_string(run) : name;
  }

  Controller controller_;
  Session session_;
};

/// What rank 0 opens for all.
struct Chief {
  Chief(const Path& path, const Environment& environment) : folder(path, environment) {}
  RunFolder folder;
  std::unique_ptr<Announcer> announcer;
  std::unique_ptr<CheckpointLog> checkpoints;
  std::unique_ptr<Record> record;
  std::unique_ptr<Shipper> shipper;
};

}  // namespace

struct ContextState {
  Environment environment;
  Distributed distributed;
  PreemptMode preempt_mode = PreemptMode::kChiefOnly;
  Run info;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<Chief> chief;
  std::vector<std::unique_ptr<StopSource>> stops;
  std::string stop_reason;
  bool is_acknowledged = false;
  bool is_closed = false;

  Chief& chief_for(const char* what) {
    if (is_closed)
      throw Error(std::string("the context is closed; call ") + what + " before it ends");
    if (chief) return *chief;
    throw NotChiefError(
        "rank " + std::to_string(distributed.rank) + " calls " + what +
        ", but only rank 0 may: guard it with `if (context.distributed().rank == 0)`");
  }
};

namespace {

void open_chief(ContextState& state, const Path& run_dir) {
  const Environment& environment = state.environment;
  state.chief = std::make_unique<Chief>(run_dir, environment);
  Chief& chief = *state.chief;
  state.storage->check();
  CheckpointObserver observer = [](const std::string&, const Announced&) {};
  if (environment.controller) {
    chief.announcer = std::make_unique<Announcer>(*environment.controller);
    chief.announcer->start();
    observer = [&chief](const std::string& event, const Announced& announced) {
      chief.announcer->report(event, announced);
    };
  }
  chief.checkpoints = std::make_unique<CheckpointLog>(chief.folder, *state.storage, observer);
  if (chief.announcer) chief.announcer->is_recovering = false;
  chief.record = std::make_unique<Record>(chief.folder, environment.controller);
  auto sink = environment.controller ? make_controller_sink(*environment.controller)
                                     : make_folder_sink(chief.folder);
  chief.shipper = std::make_unique<Shipper>(
      std::move(sink), environment.controller ? kRowsWaitingOutage : kRowsWaiting);
}

void fill_info(ContextState& state, const Path& run_dir) {
  const Environment& environment = state.environment;
  Run& info = state.info;
  info.hparams = environment.hparams;
  info.seed = environment.seed;
  info.run_dir = std::filesystem::absolute(run_dir);
  info.run_id = state.chief ? state.chief->folder.run() : environment.run_id.value_or(1);
  info.deadline = environment.deadline;
  info.job_id = environment.job_id;
  info.latest_checkpoint = environment.resume_from;
  if (!info.latest_checkpoint)
    info.latest_checkpoint =
        state.chief ? state.chief->checkpoints->latest() : latest_in(info.run_dir, *state.storage);
  const bool has_own = info.latest_checkpoint.has_value();
  if (!has_own && environment.controller)
    info.latest_checkpoint = environment.controller->latest_checkpoint;
  if (!info.latest_checkpoint) info.latest_checkpoint = environment.source_checkpoint;
  info.is_warm_start =
      !has_own && info.latest_checkpoint && info.latest_checkpoint == environment.source_checkpoint;
}

void open(ContextState& state, const Options& options) {
  const Environment& environment = state.environment;
  const bool is_chief = state.distributed.rank == 0;
  if (!is_chief && options.run_dir.empty() && !environment.run_dir && !environment.job_id) {
    throw std::invalid_argument(
        "several ranks need one run folder: set MUSTER_RUN_DIR for all of them");
  }
  const Path run_dir = options.run_dir.empty() ? default_run_folder(environment) : options.run_dir;
  Path storage = std::filesystem::absolute(run_dir) / "checkpoints";
  if (environment.checkpoint_storage) storage = *environment.checkpoint_storage;
  if (!options.checkpoint_storage.empty())
    storage = read_storage("checkpoint_storage", options.checkpoint_storage.string());
  state.storage = std::make_unique<Storage>(storage);
  if (is_chief) open_chief(state, run_dir);
  fill_info(state, run_dir);
  state.stops.push_back(make_signal_source(environment.stop_signal));
  state.stops.push_back(make_environment_source(environment));
  if (environment.controller && (is_chief || state.preempt_mode == PreemptMode::kEachRank)) {
    state.stops.push_back(make_controller_source(*environment.controller));
  }
}

/// What the controller takes in no name: controls, separators of lines, what turns the direction of
/// writing.
bool has_controls(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    if (byte(i) < 0x20 || byte(i) == 0x7f) return true;
    if (byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) <= 0x9f) return true;
    if (byte(i) != 0xe2) continue;
    if (byte(i + 1) == 0x80 && byte(i + 2) >= 0xa8 && byte(i + 2) <= 0xae) return true;
    if (byte(i + 1) == 0x81 && byte(i + 2) >= 0xa6 && byte(i + 2) <= 0xa9) return true;
  }
  return false;
}

void check_scalar(const std::string& group, const std::string& name, const Value& value) {
  if (name.empty() || has_controls(name))
    throw std::invalid_argument(
        "group '" + group +
        "' has a metric without a name, or with control characters in it: " + json_of(Value(name)));
  if (value.is_null() || std::holds_alternative<Value::List>(value.data()) ||
      std::holds_alternative<Value::Map>(value.data())) {
    throw std::invalid_argument("metric '" + name + "' of group '" + group + "' is " +
                                json_of(value) + "; a metric is a number, a boolean or a text");
  }
}

void check_report(const std::string& group, std::int64_t steps, const Metrics& metrics) {
  if (group.empty() || group.find('.') != std::string::npos || has_controls(group)) {
    throw std::invalid_argument("metric group " + json_of(Value(group)) +
                                " must not be empty or contain '.' or control characters");
  }
  if (steps < 0)
    throw std::invalid_argument("steps_completed is " + std::to_string(steps) +
                                "; it counts from 0");
  for (const auto& [name, value] : metrics) check_scalar(group, name, value);
}

/// Takes every step, whatever happens in the others; throws what happened first.
void close_all(const std::vector<std::function<void()>>& steps) {
  std::exception_ptr first;
  for (const auto& step : steps) {
    try {
      step();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace

// ---- train ----

void Train::report_training_metrics(std::int64_t steps_completed, Metrics metrics,
                                    std::vector<Metrics> batch_metrics) {
  report_metrics("training", steps_completed, std::move(metrics), std::move(batch_metrics));
}

void Train::report_validation_metrics(std::int64_t steps_completed, Metrics metrics) {
  report_metrics("validation", steps_completed, std::move(metrics));
}

void Train::report_metrics(std::string group, std::int64_t steps_completed, Metrics metrics,
                           std::vector<Metrics> batch_metrics) {
  Chief& chief = state_.chief_for("a report");
  check_report(group, steps_completed, metrics);
  for (const Metrics& batch : batch_metrics) check_report(group, steps_completed, batch);
  chief.shipper->put({state_.info.run_id, std::move(group), steps_completed, now(),
                      std::move(metrics), std::move(batch_metrics)});
}

void Train::flush() { state_.chief_for("flush").shipper->flush(); }

void Train::report_progress(double progress) {
  if (!(progress >= 0 && progress <= 1))
    throw std::invalid_argument("progress is " + std::to_string(progress) + "; it lies in 0..1");
  state_.chief_for("report_progress").record->set_progress(progress);
}

void Train::report_early_exit(std::string_view reason) {
  if (reason != "invalid_hp" && reason != "user_requested_stop") {
    throw std::invalid_argument("early exit reason '" + std::string(reason) +
                                "' is none of invalid_hp, user_requested_stop");
  }
  state_.chief_for("report_early_exit").record->set_early_exit(std::string(reason));
}

void Train::set_status(std::string_view status) {
  state_.chief_for("set_status").record->set_status(std::string(status));
}
Value Train::get_metadata() { return state_.chief_for("get_metadata").record->metadata(); }
void Train::set_metadata(const Value& metadata) {
  state_.chief_for("set_metadata").record->set_metadata(metadata);
}

// ---- checkpoint ----

std::string Checkpoint::store(std::int64_t steps_completed,
                              const std::function<void(const std::filesystem::path&)>& write,
                              Value::Map metadata) {
  Chief& chief = state_.chief_for("checkpoint().store");
  if (steps_completed < 0)
    throw std::invalid_argument("steps_completed is " + std::to_string(steps_completed) +
                                "; it counts from 0");
  metadata.insert_or_assign("steps_completed", steps_completed);
  std::string uuid = new_uuid();
  chief.checkpoints->announce(uuid);
  try {
    write(state_.storage->begin(uuid));
    chief.shipper->drain();  // the metrics that led there are kept too
    state_.storage->finish(uuid, metadata);
  } catch (...) {
    try {
      state_.storage->discard(uuid);
      chief.checkpoints->discard(uuid);
    } catch (const std::exception& error) {
      log_line("checkpoint " + uuid +
               " was not written, and its files remain until the next start: " + error.what());
    }
    throw;
  }
  chief.checkpoints->complete(uuid, steps_completed);
  return uuid;
}

std::string Checkpoint::upload(std::int64_t steps_completed, const std::filesystem::path& folder,
                               Value::Map metadata) {
  if (!std::filesystem::is_directory(folder))
    throw CheckpointError(folder.string() + " is no folder");
  const auto copy = [&folder](const std::filesystem::path& target) {
    std::error_code error;
    std::filesystem::copy(
        folder, target,
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks,
        error);
    if (error) fail_on_disk("copy a checkpoint's files", target, error.value());
  };
  return store(steps_completed, copy, std::move(metadata));
}

std::filesystem::path Checkpoint::restore_path(const std::string& uuid) const {
  return state_.storage->find(uuid);
}
Value Checkpoint::get_metadata(const std::string& uuid) const {
  return state_.storage->metadata(uuid);
}

void Checkpoint::remove(const std::string& uuid) {
  Chief& chief = state_.chief_for("checkpoint().remove");
  state_.storage->unmake(uuid);
  chief.checkpoints->remove(uuid);
  state_.storage->discard(uuid);
}

std::optional<std::string> Checkpoint::latest() const {
  return state_.chief_for("checkpoint().latest").checkpoints->latest();
}

// ---- preempt ----

bool Preempt::should_preempt(bool is_acknowledged) {
  if (state_.preempt_mode == PreemptMode::kChiefOnly && state_.distributed.rank != 0) {
    throw NotChiefError(
        "rank " + std::to_string(state_.distributed.rank) +
        " asks should_preempt(), but only rank 0 does with PreemptMode::kChiefOnly");
  }
  for (auto& source : state_.stops) {
    if (!state_.stop_reason.empty()) break;
    state_.stop_reason = source->reason();
    if (!state_.stop_reason.empty()) log_line("asked to stop: " + state_.stop_reason);
  }
  if (!state_.stop_reason.empty() && is_acknowledged) acknowledge();
  return !state_.stop_reason.empty();
}

void Preempt::acknowledge() {
  if (!state_.chief || state_.is_closed || state_.is_acknowledged) return;
  state_.is_acknowledged = true;
  state_.chief->record->acknowledge_stop(state_.stop_reason.empty() ? "by the script itself"
                                                                    : state_.stop_reason);
}

const std::string& Preempt::reason() const { return state_.stop_reason; }

// ---- searcher ----

void Operation::report_progress(double units_completed) {
  if (!(units_completed >= 0))
    throw std::invalid_argument("progress is " + std::to_string(units_completed) +
                                "; it counts from 0");
  Train(state_).report_progress(std::min(1.0, units_completed / length()));
}

void Operation::report_completed(double metric) {
  if (is_completed_)
    throw Error("the operation of length " + std::to_string(length()) +
                " was reported as completed before");
  state_.chief_for("report_completed").record->set_searcher_metric(length(), metric);
  is_completed_ = true;
}

const std::string& Searcher::metric_name() const { return state_.environment.searcher_metric; }
const std::optional<MaxLength>& Searcher::max_length() const {
  return state_.environment.max_length;
}

Operation Searcher::operation(std::optional<double> default_length) const {
  if (state_.environment.max_length) return Operation(state_, *state_.environment.max_length);
  if (!default_length || !(*default_length > 0) || std::isinf(*default_length)) {
    throw std::invalid_argument(
        "MUSTER_MAX_LENGTH is not set; set it (a number, or {\"epochs\": 64}) or pass a positive "
        "default_length");
  }
  return Operation(state_, MaxLength{*default_length, ""});
}

// ---- the context ----

Context::Context(std::unique_ptr<ContextState> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Context::~Context() {
  try {
    close();
  } catch (const std::exception& error) {
    log_line(std::string("while ending: ") + error.what());
  }
}

const Run& Context::info() const { return state_->info; }
const Distributed& Context::distributed() const { return state_->distributed; }
Train Context::train() { return Train(*state_); }
Checkpoint Context::checkpoint() { return Checkpoint(*state_); }
Preempt Context::preempt() { return Preempt(*state_); }
Searcher Context::searcher() { return Searcher(*state_); }

void Context::close() {
  if (!state_ || state_->is_closed) return;
  ContextState& state = *state_;
  state.is_closed = true;
  std::vector<std::function<void()>> steps;
  if (state.chief)
    steps = {[&] { state.chief->shipper->close(); }, [&] { state.chief->record->close(); }};
  steps.emplace_back([&] { state.stops.clear(); });
  steps.emplace_back([&] { state.chief.reset(); });
  steps.emplace_back([] { is_run_open.store(false); });
  close_all(steps);
}

Context init(const Options& options) {
  if (is_run_open.exchange(true))
    throw Error("a context is open in this process; close it before the next init()");
  try {
    const Variables variables = own_variables();
    auto state = std::make_unique<ContextState>();
    state->environment = read_environment(variables);
    state->distributed = read_placement(variables);
    state->preempt_mode = options.preempt_mode;
    open(*state, options);
    return Context(std::move(state));
  } catch (...) {
    is_run_open.store(false);
    throw;
  }
}

}  // namespace muster::core
