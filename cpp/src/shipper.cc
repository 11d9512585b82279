#include "shipper.h"

#include <algorithm>
#include <iterator>

namespace muster::core {
namespace {

constexpr std::size_t kRowsMax = 1000;  // one batch

}  // namespace

Shipper::Shipper(std::unique_ptr<MetricSink> sink, std::size_t rows_waiting_max)
    : sink_(std::move(sink)), rows_waiting_max_(rows_waiting_max), thread_([this] { run(); }) {}

Shipper::~Shipper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Shipper::throw_failure() {
  if (failure_) std::rethrow_exception(failure_);
  if (conflicts_.empty()) return;
  const MetricConflictError conflict = conflicts_.front();
  conflicts_.pop_front();
  throw conflict;
}

void Shipper::put(MetricRow row) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_closing_) throw Error("the context is closed; report before it ends");
  changed_.wait(lock, [this] { return waiting_.size() < rows_waiting_max_ || failure_; });
  throw_failure();
  waiting_.push_back(std::move(row));
  ++put_count_;
  changed_.notify_all();
}

void Shipper::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t until = put_count_;
  changed_.wait(lock, [&] { return done_count_ >= until; });
}

void Shipper::flush() {
  drain();
  const std::lock_guard<std::mutex> lock(mutex_);
  throw_failure();
}

void Shipper::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard<std::mutex> lock(mutex_);
  throw_failure();
}

void Shipper::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto end =
        waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(kRowsMax, waiting_.size()));
    const std::vector<MetricRow> batch(std::make_move_iterator(waiting_.begin()),
                                       std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    const bool is_over = failure_ != nullptr;
    lock.unlock();
    if (!is_over) ship(batch);
    lock.lock();
    done_count_ += batch.size();
    changed_.notify_all();
  }
}

void Shipper::ship(const std::vector<MetricRow>& rows) {
  try {
    sink_->append(rows);
  } catch (const MetricConflictError& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (conflicts_.size() < kRowsMax) conflicts_.push_back(error);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::current_exception();
  }
}

}  // namespace muster::core
