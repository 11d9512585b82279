// What C++ training code says to whoever runs it, and hears from there: hyperparameters, metrics,
// checkpoints, stops, ranks.
//
//     #include <muster/core.hpp>                                      // link with -lmuster_core
//     -pthread
//
//     muster::core::Context context = muster::core::init();
//     std::int64_t done = 0;
//     if (const auto& latest = context.info().latest_checkpoint) done =
//     load(context.checkpoint().restore_path(*latest)); while (done < epochs &&
//     !context.preempt().should_preempt()) {
//       context.train().report_training_metrics(++done, {{"loss", train_epoch()}});
//     }
//     context.checkpoint().store(done, [&](const std::filesystem::path& folder) { save(folder); });
//     context.close();
//
// The verbs, the files and the requests are those of the Python package `muster.core`: run folders,
// checkpoints and trials of the two are read by each other. Without a controller everything is kept
// in the run folder. docs/reference/cpp.md has what differs. C++17; needs nothing but the standard
// library.
//
// Errors are exceptions: `Error` and what derives from it for what happens, std::invalid_argument
// for what was asked wrongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace muster::core {

// ---- errors: each named by what it means to whoever catches it ----

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The controller refused a request, or did not answer in time (then without a status).
struct ControllerError : Error {
  explicit ControllerError(const std::string& text, std::optional<int> http_status = std::nullopt)
      : Error(text), status(http_status) {}
  std::optional<int> status;
};
/// A newer run of this trial has begun; this process should end.
struct StaleRunError : Error {
  using Error::Error;
};
/// A disk did not do what was asked.
struct StorageError : Error {
  using Error::Error;
};
/// A file does not hold what it should.
struct CorruptionError : Error {
  using Error::Error;
};
/// A checkpoint could not be written as it was given.
struct CheckpointError : Error {
  using Error::Error;
};
struct CheckpointNotFoundError : CheckpointError {
  using CheckpointError::CheckpointError;
};
/// A metric was reported again with another value.
struct MetricConflictError : Error {
  using Error::Error;
};
/// Another process writes to the run folder.
struct RunFolderInUseError : Error {
  using Error::Error;
};
/// Only rank 0 may.
struct NotChiefError : Error {
  using Error::Error;
};

// ---- values ----

/// A value as JSON has them; NaN and infinities too, which travel as the texts "NaN", "Infinity",
/// "-Infinity".
class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value, std::less<>>;
  using Data = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Map>;

  Value() : data_(nullptr) {}
  Value(std::nullptr_t) : data_(nullptr) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T number) : data_(data_of(number)) {}
  Value(const char* text) : data_(std::string(text)) {}
  Value(std::string_view text) : data_(std::string(text)) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(List list) : data_(std::move(list)) {}
  Value(Map map) : data_(std::move(map)) {}

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool is_number() const {
    return std::holds_alternative<std::int64_t>(data_) || std::holds_alternative<double>(data_);
  }

  /// What it holds; `as_int` takes a double without a fraction, `as_double` any number. Errors:
  /// std::invalid_argument.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_text() const;
  const List& as_list() const;
  const Map& as_map() const;

  /// The member of that name; null when there is none, or this is no map.
  const Value* find(std::string_view name) const;
  /// As `find`. Errors: std::invalid_argument that names the missing member.
  const Value& operator[](std::string_view name) const;
  /// The member of that name, or `otherwise` when it is missing or null. Errors:
  /// std::invalid_argument for another type.
  bool get(std::string_view name, bool otherwise) const;
  int get(std::string_view name, int otherwise) const;
  std::int64_t get(std::string_view name, std::int64_t otherwise) const;
  double get(std::string_view name, double otherwise) const;
  std::string get(std::string_view name, const char* otherwise) const;

  const Data& data() const { return data_; }
  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }

 private:
  template <class T>
  static Data data_of(T number) {
    if constexpr (std::is_same_v<T, bool>)
      return Data(number);
    else if constexpr (std::is_floating_point_v<T>)
      return Data(static_cast<double>(number));
    else
      return Data(static_cast<std::int64_t>(number));
  }
  Data data_;
};

/// Names to numbers, booleans or texts.
using Metrics = Value::Map;

// ---- what a run is ----

/// This process among the ranks of its training, as torchrun, mpirun or srun say in the
/// environment; alone without them.
struct Distributed {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< of `local_size` on its node,
  int local_size = 1;
  int cross_rank = 0;  ///< which is this one of `cross_size`
  int cross_size = 1;
};

/// How far to train, in `unit` ("epochs", "batches"; "" when only a number was given).
struct MaxLength {
  double length = 0;
  std::string unit;
};

/// What this run is.
struct Run {
  Value hparams;  ///< a map
  std::uint64_t seed = 0;
  std::filesystem::path run_dir;
  std::int64_t run_id = 1;                       ///< counts the starts of this trial
  std::optional<std::string> latest_checkpoint;  ///< where to go on from: a uuid or a path
  bool is_warm_start =
      false;  ///< that is another trial's: its weights are taken, steps are counted from 0
  std::optional<double> deadline;  ///< seconds since the epoch
  std::optional<std::int64_t> job_id;
};

/// Who asks whether to stop. Ranks exchange nothing here: with several, a script tells the others
/// what rank 0 heard.
enum class PreemptMode {
  kChiefOnly,  ///< rank 0 alone
  kEachRank,   ///< any rank at any time; they may hear at different steps
};

struct Options {
  std::filesystem::path run_dir;  ///< default MUSTER_RUN_DIR, else a folder below muster-runs/
  std::filesystem::path checkpoint_storage;  ///< default MUSTER_CHECKPOINT_STORAGE, else
                                             ///< checkpoints/ of the run folder
  PreemptMode preempt_mode = PreemptMode::kChiefOnly;
};

struct ContextState;  ///< what the parts share; private

// ---- the parts of a context: references to it, valid as long as it is ----

/// What a training says of itself. Rank 0 speaks for all: others get NotChiefError. Any thread.
///
/// Reports are kept by a thread of their own, in order; what could not be kept is thrown by a later
/// report, by `flush` and by `Context::close`: StorageError, ControllerError, StaleRunError,
/// MetricConflictError. A second report of the same group and steps adds to the first; an equal
/// repeat changes nothing.
class Train {
 public:
  explicit Train(ContextState& state) : state_(state) {}
  /// `steps_completed`: batches trained since the beginning of the trial. `batch_metrics`: one map
  /// for each batch.
  void report_training_metrics(std::int64_t steps_completed, Metrics metrics,
                               std::vector<Metrics> batch_metrics = {});
  void report_validation_metrics(std::int64_t steps_completed, Metrics metrics);
  /// `group`: a name without ".". Errors: std::invalid_argument.
  void report_metrics(std::string group, std::int64_t steps_completed, Metrics metrics,
                      std::vector<Metrics> batch_metrics = {});
  /// Returns when every report so far is on stable storage.
  void flush();
  /// 0..1 of all that is to be trained.
  void report_progress(double progress);
  /// "invalid_hp" or "user_requested_stop".
  void report_early_exit(std::string_view reason);
  /// A word or two for people.
  void set_status(std::string_view status);
  /// The trial's metadata, an empty map at first; `set_metadata` replaces it, durably.
  Value get_metadata();
  void set_metadata(const Value& metadata);

 private:
  ContextState& state_;
};

/// Checkpoints are whole or not there. Rank 0 writes, any rank reads. One thread.
class Checkpoint {
 public:
  explicit Checkpoint(ContextState& state) : state_(state) {}
  /// Calls `write` with a folder to write into; the answer is the checkpoint's uuid, once it is
  /// whole. When `write` throws there is none. `metadata` may say more than steps_completed.
  /// Errors: NotChiefError, CheckpointError (links; the names metadata.json and resources.json),
  /// StorageError, ControllerError.
  std::string store(std::int64_t steps_completed,
                    const std::function<void(const std::filesystem::path&)>& write,
                    Value::Map metadata = {});
  /// Copies a folder's files into a new checkpoint. Errors: as `store`.
  std::string upload(std::int64_t steps_completed, const std::filesystem::path& folder,
                     Value::Map metadata = {});
  /// The folder of a checkpoint, to be read only; `uuid` may be a path. Errors:
  /// CheckpointNotFoundError.
  std::filesystem::path restore_path(const std::string& uuid) const;
  /// Errors: CheckpointNotFoundError, CorruptionError.
  Value get_metadata(const std::string& uuid) const;
  /// Errors: NotChiefError, CheckpointNotFoundError, StorageError.
  void remove(const std::string& uuid);
  /// The one that this trial completed last and still has. Errors: NotChiefError.
  std::optional<std::string> latest() const;

 private:
  ContextState& state_;
};

/// Whether this run is asked to stop: by a signal, the stop file, the deadline or the controller.
/// Once true, true for ever.
class Preempt {
 public:
  explicit Preempt(ContextState& state) : state_(state) {}
  /// `is_acknowledged`: the first true also acknowledges. The first call may wait two seconds for
  /// the controller's answer. Errors: NotChiefError with PreemptMode::kChiefOnly on another rank.
  bool should_preempt(bool is_acknowledged = true);
  /// Says that the stop was heard and this run is about to end.
  void acknowledge();
  /// Why, for people; "" before.
  const std::string& reason() const;

 private:
  ContextState& state_;
};

/// How far to train. Made by `Searcher::operation`.
class Operation {
 public:
  Operation(ContextState& state, MaxLength max_length)
      : state_(state), max_length_(std::move(max_length)) {}
  double length() const { return max_length_.length; }
  const std::string& unit() const { return max_length_.unit; }
  bool is_completed() const { return is_completed_; }
  /// `units_completed` of `length`.
  void report_progress(double units_completed);
  /// `metric` at `length`; NaN ranks worst. Once. Errors: Error the second time.
  void report_completed(double metric);

 private:
  ContextState& state_;
  MaxLength max_length_;
  bool is_completed_ = false;
};

class Searcher {
 public:
  explicit Searcher(ContextState& state) : state_(state) {}
  /// What the search judges by, from MUSTER_SEARCHER_METRIC; "" when nothing was said.
  const std::string& metric_name() const;
  /// From MUSTER_MAX_LENGTH.
  const std::optional<MaxLength>& max_length() const;
  /// Up to MUSTER_MAX_LENGTH, else to `default_length`. Errors: std::invalid_argument when there is
  /// no length.
  Operation operation(std::optional<double> default_length = std::nullopt) const;

 private:
  ContextState& state_;
};

/// One run, from `init` to `close`; there is one in a process at a time.
class Context {
 public:
  explicit Context(std::unique_ptr<ContextState> state);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  /// Closes; what goes wrong then is only written to standard error.
  ~Context();

  const Run& info() const;
  const Distributed& distributed() const;
  Train train();
  Checkpoint checkpoint();
  Preempt preempt();
  Searcher searcher();
  /// Keeps what is left, and lets go of everything. May be called again. Errors: what no report has
  /// thrown yet.
  void close();

 private:
  std::unique_ptr<ContextState> state_;
};

/// Begins a run. Every rank calls it.
/// Errors: std::invalid_argument for a wrong variable or storage that is no folder;
/// RunFolderInUseError, StaleRunError, StorageError, CorruptionError, ControllerError.
Context init(const Options& options = {});

}  // namespace muster::core
