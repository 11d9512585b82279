// The thread between reports and the sink: training does not wait for disks, and many reports share
// one sync.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "metrics.h"

namespace muster::core {

/// Takes rows from any thread, at most `rows_waiting_max` waiting; keeps their order. A failure is
/// thrown by the next `put` or `flush`, and by `close` if nobody has seen it. After a conflict the
/// others' rows go on being kept; after any other failure nothing is, and every call throws it.
class Shipper {
 public:
  Shipper(std::unique_ptr<MetricSink> sink, std::size_t rows_waiting_max);
  ~Shipper();
  /// Waits while the queue is full.
  void put(MetricRow row);
  /// Returns when all that was put before is durable.
  void flush();
  /// As `flush`, but leaves failures to the next `put`.
  void drain();
  /// Ships what is left and ends the thread.
  void close();

 private:
  void run();
  void ship(const std::vector<MetricRow>& rows);
  void throw_failure();  ///< mutex_ is held

  std::unique_ptr<MetricSink> sink_;
  const std::size_t rows_waiting_max_;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  std::deque<MetricRow> waiting_;
  std::uint64_t put_count_ = 0;
  std::uint64_t done_count_ = 0;
  bool is_closing_ = false;
  std::exception_ptr failure_;  ///< final
  std::deque<MetricConflictError> conflicts_;
  std::thread thread_;
};

}  // namespace muster::core
