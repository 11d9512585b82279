#include "record.h"

#include <algorithm>
#include <chrono>

#include "json.h"
#include "log.h"

namespace muster::core {
namespace {

constexpr double kProgressPeriod = 1.0;

double steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// ---- status.json ----

StatusFile::StatusFile(const RunFolder& folder) : path_(folder.path() / "status.json") {
  Value before = read_document(path_);
  if (before.get("run", std::int64_t{0}) == folder.run()) status_ = before.as_map();
  status_.insert_or_assign("run", folder.run());
}

void StatusFile::write() {
  status_.insert_or_assign("time", now());
  replace_document(path_, status_);
  written_ = steady_now();
  is_behind_ = false;
}

void StatusFile::set(const std::string& name, const Value& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  status_.insert_or_assign(name, value);
  write();
}

void StatusFile::set_late(const std::string& name, const Value& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  status_.insert_or_assign(name, value);
  is_behind_ = true;
  if (steady_now() - written_ >= kProgressPeriod) write();
}

void StatusFile::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_behind_) write();
}

// ---- letters to the controller ----

Courier::Courier(const Controller& controller) : session_(controller), thread_([this] { run(); }) {}

void Courier::send(const std::string& kind, const std::string& path, Value body, double period_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  double& next = next_[kind];
  const auto waiting = letters_.find(kind);
  const double not_before = waiting == letters_.end() ? next : waiting->second.not_before;
  next = std::max(not_before, steady_now()) + period_s;
  letters_.insert_or_assign(kind, Letter{not_before, path, std::move(body)});
  changed_.notify_all();
}

std::map<std::string, Courier::Letter>::iterator Courier::due() {
  return std::min_element(letters_.begin(), letters_.end(), [](const auto& a, const auto& b) {
    return a.second.not_before < b.second.not_before;
  });
}

void Courier::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const auto first = due();
    if (first == letters_.end()) {
      if (is_closing_) return;
      changed_.wait(lock);
      continue;
    }
    const double wait_s = first->second.not_before - steady_now();
    if (wait_s > 0 && !is_closing_) {
      changed_.wait_for(lock, std::chrono::duration<double>(wait_s));
      continue;
    }
    const std::string kind = first->first;
    const Letter letter = std::move(first->second);
    letters_.erase(first);
    lock.unlock();
    std::string failure;
    try {
      session_.call("POST", letter.path, letter.body);
    } catch (const Error& error) {
      failure = error.what();
      log_line(kind + " was not reported: " + failure);
    }
    lock.lock();
    if (!failure.empty()) failure_ = failure;
  }
}

std::string Courier::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  return failure_;
}

// ---- the record ----

Record::Record(const RunFolder& folder, const std::optional<Controller>& controller)
    : metadata_path_(folder.path() / "metadata.json"), status_(folder), controller_(controller) {
  if (!controller_) return;
  session_ = std::make_unique<Session>(*controller_);
  courier_ = std::make_unique<Courier>(*controller_);
}

std::string Record::trial_path(const std::string& rest) const {
  return "/trials/" + std::to_string(controller_->trial) + "/" + rest;
}

void Record::set_progress(double progress) {
  status_.set_late("progress", progress);
  if (courier_)
    courier_->send("progress", trial_path("progress"), Value::Map{{"progress", progress}},
                   kProgressPeriod);
}

void Record::set_status(const std::string& status) {
  status_.set("status", status);
  if (courier_)
    courier_->send("status", trial_path("runner/metadata"), Value::Map{{"state", status}});
}

/// Of the reasons the controller knows one; a stop that the user wished is to it a trial that has
/// completed.
void Record::set_early_exit(const std::string& reason) {
  status_.set("early_exit", reason);
  if (session_ && reason == "invalid_hp")
    session_->call("POST", trial_path("early_exit"),
                   Value::Map{{"reason", "EXITED_REASON_INVALID_HP"}});
}

/// For people alone: the search reads it from the validation reports.
void Record::set_searcher_metric(double length, double metric) {
  status_.set("searcher", Value::Map{{"length", length}, {"metric", metric}});
}

void Record::acknowledge_stop(const std::string& reason) {
  status_.set("stop_acknowledged", reason);
  if (!controller_) return;
  acknowledger_ = std::make_unique<Courier>(*controller_);
  acknowledger_->send("the acknowledgement of the stop",
                      "/allocations/" + controller_->allocation + "/signals/ack_preemption",
                      Value());
}

Value Record::metadata() {
  if (!session_) return decoded(read_document(metadata_path_));
  const Value answer =
      session_->call("GET", "/runs/" + std::to_string(controller_->trial) + "/metadata");
  const Value* document = answer.find("metadata");
  return document == nullptr || document->is_null() ? Value(Value::Map{}) : decoded(*document);
}

void Record::set_metadata(const Value& metadata) {
  static_cast<void>(metadata.as_map());
  if (!session_) return replace_document(metadata_path_, metadata);
  session_->call("POST", "/runs/" + std::to_string(controller_->trial) + "/metadata",
                 Value::Map{{"metadata", metadata}});
}

void Record::close() {
  if (courier_) courier_->close();
  status_.close();
  const std::string failure = acknowledger_ ? acknowledger_->close() : "";
  if (!failure.empty()) throw ControllerError(failure);
}

}  // namespace muster::core
