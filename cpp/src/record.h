// What else a run says of itself: progress, status, early exit, metadata, that it heard of a stop.
// Kept in the run folder (status.json of this run, metadata.json of the trial) and told to a
// controller, if there is one.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "run_folder.h"
#include "session.h"

namespace muster::core {

/// status.json. Any thread.
class StatusFile {
 public:
  explicit StatusFile(const RunFolder& folder);
  void set(const std::string& name, const Value& value);
  /// As `set`, written at most once a second, and at `close`.
  void set_late(const std::string& name, const Value& value);
  void close();

 private:
  void write();  ///< mutex_ is held

  const Path path_;
  std::mutex mutex_;  ///< guards all below
  Value::Map status_;
  double written_ = 0;
  bool is_behind_ = false;
};

/// Brings what training must not wait for: of each kind only the latest, progress at most once a
/// second.
class Courier {
 public:
  explicit Courier(const Controller& controller);
  ~Courier() { close(); }
  void send(const std::string& kind, const std::string& path, Value body, double period_s = 0);
  /// Brings what is left, until the session gives up. The answer is the last thing that
  /// was refused, "" if none.
  std::string close();

 private:
  struct Letter {
    double not_before = 0;
    std::string path;
    Value body;
  };
  void run();
  /// The kind that is due first; null when there is none.
  std::map<std::string, Letter>::iterator due();

  Session session_;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  std::map<std::string, Letter> letters_;
  std::map<std::string, double> next_;  ///< by kind: not before
  bool is_closing_ = false;
  std::string failure_;
  std::thread thread_;
};

/// A status or progress that the controller refuses is a line on standard error. An acknowledgement
/// that it refuses is an error of `close`: without it a run that ends in good order would count as
/// one that has completed.
class Record {
 public:
  Record(const RunFolder& folder, const std::optional<Controller>& controller);
  void set_progress(double progress);
  void set_status(const std::string& status);
  void set_early_exit(const std::string& reason);
  void set_searcher_metric(double length, double metric);
  void acknowledge_stop(const std::string& reason);
  Value metadata();
  void set_metadata(const Value& metadata);
  /// Errors: ControllerError.
  void close();

 private:
  std::string trial_path(const std::string& rest) const;

  const Path metadata_path_;
  StatusFile status_;
  std::optional<Controller> controller_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Courier> courier_;
  std::unique_ptr<Courier> acknowledger_;  ///< its own: it must not wait behind a status
};

}  // namespace muster::core
