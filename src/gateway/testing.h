// A port whose threads have nothing to say, for tests of what concerns only some of them. Not for
// production code.
#pragma once

#include "gateway/gateway.h"

namespace muster::testing {

class SilentPort : public GatewayPort {
 public:
  ~SilentPort() noexcept override = default;
  TimePoint now() override { return TimePoint::from_seconds(1'000'000'000); }
  void command(Command) override {}
  void forecast(Command) override {}
  kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId>) override {
    return std::map<JobId, Reasons>();
  }
  kj::Promise<Result<HistorySlice>> history(UserId, HistoryListing) override {
    return silent<HistorySlice>();
  }
  kj::Promise<Result<std::string>> blob(BlobId) override { return silent<std::string>(); }
  kj::Promise<CallerNames> names(UserId, GroupId) override {
    return CallerNames{"alice", "users", {}};
  }
  kj::Promise<Result<std::string>> token(TokenOwner, TimePoint) override {
    return silent<std::string>();
  }
  kj::Promise<Result<ReportOutcome>> store_report(MetricReport) override {
    return silent<ReportOutcome>();
  }
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion>) override {
    return Result<MetricAnswers>(fail(ErrorCode::kUnavailable, "no metrics are stored here"));
  }
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion) override {
    return Result<TokenAnswer>(fail(ErrorCode::kUnavailable, "no tokens are stored here"));
  }
  void forget_trials(std::vector<TrialId>) override {}
  void begin_metrics(TrialId, std::uint32_t, std::int64_t) override {}
  kj::Promise<Result<LogPage>> read_logs(LogQuery, Duration) override { return silent<LogPage>(); }
  void wake_log_readers(LogOwner) override {}

 private:
  template <class T>
  static kj::Promise<Result<T>> silent() {
    return Result<T>(fail(ErrorCode::kUnavailable, "nobody is there"));
  }
};

}  // namespace muster::testing
