// Requests to a controller: JSON over HTTP, repeated while nobody answers.
//
// Only what the controller itself says about a request is final. A connection that breaks and a
// gateway that stands in for it (502, 503, 504) mean that it is restarting, so the same request
// goes out again: each may be repeated, as the controller ignores what it has.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "environment.h"
#include "http_connection.h"

namespace muster::core {

constexpr double kAnswerTimeout = 60.0;  ///< seconds; after it the connection counts as broken

/// Speaks for one task. One thread calls, over one kept connection; any may close.
class Session {
 public:
  explicit Session(const Controller& controller);

  /// The object that the controller answers, an empty map for an empty answer. `path` lies below
  /// /api/v1. Errors: ControllerError, with the status and words of a refusal; without a status
  /// when nobody answered in time, or `close` came in between; StaleRunError when a newer run has
  /// begun.
  Value call(const std::string& method, const std::string& path, const Value& body = Value(),
             double timeout_s = kAnswerTimeout);
  /// Ends a request that waits, and refuses further ones.
  void close();

 private:
  /// False when closed meanwhile.
  bool pause(double seconds);

  Controller controller_;
  HttpConnection connection_;
  std::mutex mutex_;
  std::condition_variable closing_;
  bool is_closed_ = false;  ///< guarded by mutex_
};

}  // namespace muster::core
