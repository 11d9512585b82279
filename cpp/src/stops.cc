#include "stops.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "log.h"

namespace muster::core {
namespace {

constexpr int kPoll = 60;  // seconds of one long poll
constexpr double kPollMargin = 10;
constexpr double kPollPeriod = 1;  // no faster than this, whatever the controller answers
constexpr auto kFirstAnswer = std::chrono::seconds(2);

// What a signal's handler may touch.
std::atomic<bool> signal_came{false};
struct sigaction handler_before;

void catch_signal(int number, siginfo_t* info, void* context) {
  signal_came.store(true);
  if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
    if (handler_before.sa_sigaction != nullptr) handler_before.sa_sigaction(number, info, context);
  } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(number);
  }
}

class SignalSource final : public StopSource {
 public:
  explicit SignalSource(int number) : number_(number) {
    signal_came.store(false);
    struct sigaction handler {};
    handler.sa_sigaction = catch_signal;
    handler.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&handler.sa_mask);
    ::sigaction(number_, &handler, &handler_before);
  }
  ~SignalSource() override {
    struct sigaction now {};
    ::sigaction(number_, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == catch_signal)
      ::sigaction(number_, &handler_before, nullptr);
  }
  std::string reason() override {
    return signal_came.load() ? "signal " + std::to_string(number_) : "";
  }

 private:
  const int number_;
};

class EnvironmentSource final : public StopSource {
 public:
  explicit EnvironmentSource(const Environment& environment) {
    if (environment.stop_file) stop_file_ = std::filesystem::absolute(*environment.stop_file);
    if (environment.deadline) stop_time_ = *environment.deadline - environment.deadline_margin_s;
  }
  std::string reason() override {
    std::error_code error;
    if (!stop_file_.empty() && std::filesystem::exists(stop_file_, error))
      return "stop file " + stop_file_.string();
    return stop_time_ && now() >= *stop_time_ ? "deadline" : "";
  }

 private:
  std::filesystem::path stop_file_;
  std::optional<double> stop_time_;
};

class ControllerSource final : public StopSource {
 public:
  explicit ControllerSource(const Controller& controller)
      : path_("/allocations/" + controller.allocation + "/signals/preemption?timeout_seconds="),
        session_(controller),
        thread_([this] { run(); }) {}

  ~ControllerSource() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_closed_ = true;
      changed_.notify_all();
    }
    session_.close();
    thread_.join();
  }

  std::string reason() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kFirstAnswer, [this] { return is_answered_; });
    is_answered_ = true;  // an outage at the start is waited for once
    return is_asked_ ? "the controller" : "";
  }

 private:
  void run() {
    for (int seconds = 0; !pause(0); seconds = kPoll) {
      const auto began = std::chrono::steady_clock::now();
      try {
        const Value answer =
            session_.call("GET", path_ + std::to_string(seconds), Value(), seconds + kPollMargin);
        if (record_answer(answer.get("preempt", false))) return;
      } catch (const Error& error) {
        if (pause(0)) return;
        log_line(std::string("stops asked by the controller are not heard for now: ") +
                 error.what());
        if (pause(kPollMargin)) return;
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      if (seconds > 0 && pause(std::max(0.0, kPollPeriod - took.count()))) return;
    }
  }

  bool record_answer(bool is_asked) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_asked_ = is_asked;
    is_answered_ = true;
    changed_.notify_all();
    return is_asked;
  }

  /// True when closed.
  bool pause(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return is_closed_; });
  }

  const std::string path_;
  Session session_;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  bool is_asked_ = false;
  bool is_answered_ = false;
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<StopSource> make_signal_source(int number) {
  return std::make_unique<SignalSource>(number);
}
std::unique_ptr<StopSource> make_environment_source(const Environment& environment) {
  return std::make_unique<EnvironmentSource>(environment);
}
std::unique_ptr<StopSource> make_controller_source(const Controller& controller) {
  return std::make_unique<ControllerSource>(controller);
}

}  // namespace muster::core
