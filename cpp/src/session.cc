#include "session.h"

#include <algorithm>
#include <chrono>

#include "json.h"
#include "log.h"

namespace muster::core {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kFirstDelay = 0.1;
constexpr double kDelayMax = 5.0;

bool is_unanswered(int status) { return status == 502 || status == 503 || status == 504; }

/// The words of an error's body {"error": {"error": text}}; of any other, its beginning.
std::string said(const std::string& body) {
  try {
    return parse_json("", body)["error"]["error"].as_text();
  } catch (const std::invalid_argument&) {
    return body.substr(0, 200);
  }
}

Value read_answer(const std::string& what, const HttpAnswer& answer) {
  if (answer.status >= 300) {
    const std::string words = said(answer.body);
    if (words.find("invalid run id") != std::string::npos) {
      throw StaleRunError("a newer run of this trial has begun; end this process (" + what + ": " +
                          words + ")");
    }
    throw ControllerError(
        what + ": the controller refused with " + std::to_string(answer.status) + ": " + words,
        answer.status);
  }
  if (answer.body.find_first_not_of(" \t\r\n") == std::string::npos) return Value::Map{};
  try {
    Value document = parse_json("", answer.body);
    if (std::holds_alternative<Value::Map>(document.data())) return document;
  } catch (const std::invalid_argument&) {
  }
  throw ControllerError(what + ": the controller's answer is no JSON object: " + said(answer.body),
                        answer.status);
}

}  // namespace

Session::Session(const Controller& controller)
    : controller_(controller), connection_(controller.host, controller.port) {}

bool Session::pause(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !closing_.wait_for(lock, std::chrono::duration<double>(seconds),
                            [this] { return is_closed_; });
}

void Session::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  connection_.interrupt();
  closing_.notify_all();
}

Value Session::call(const std::string& method, const std::string& path, const Value& body,
                    double timeout_s) {
  const std::string what = method + " " + path.substr(0, path.find('?'));
  std::string head = method + " " + controller_.prefix + "/api/v1" + path + " HTTP/1.1\r\n";
  head += "Grpc-Metadata-x-allocation-token: Bearer " + controller_.token + "\r\n";
  const std::string text = body.is_null() ? "" : json_of(body);
  std::optional<std::string_view> data;
  if (method != "GET") data = text;
  std::optional<Clock::time_point> deadline;
  double delay = 0;
  bool has_warned = false;
  while (pause(delay)) {
    const bool is_fresh = !connection_.is_open();
    std::string trouble;
    try {
      const HttpAnswer answer = connection_.exchange(head, data, timeout_s);
      if (!is_unanswered(answer.status)) {
        if (has_warned) log_line(what + ": the controller is there again");
        return read_answer(what, answer);
      }
      trouble = std::to_string(answer.status) + " " + said(answer.body);
    } catch (const ConnectionError& error) {
      trouble = error.what();
    }
    if (!pause(0)) break;
    if (!deadline) {
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(controller_.retry_timeout_s));
      delay = is_fresh ? kFirstDelay : 0;  // a kept one may have been closed while idle: no outage
    } else {
      delay = std::min(std::max(2 * delay, kFirstDelay), kDelayMax);
    }
    const std::string who = "the controller at " + controller_.url;
    if (delay > 0 && !has_warned) {
      has_warned = true;
      log_line(what + ": " + who + " does not answer (" + trouble + "); trying for " +
               std::to_string(static_cast<int>(controller_.retry_timeout_s)) + " s");
    }
    if (Clock::now() > *deadline) {
      throw ControllerError(what + ": " + who + " did not answer in time, at last with " + trouble +
                            "; see that it runs and start again");
    }
  }
  throw ControllerError(what + ": the run has ended");
}

}  // namespace muster::core
