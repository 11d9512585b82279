// Custom search: the client decides. What happens to trials is shown to it as events, numbered from
// 1, that stay until its operations answer them; the operations are journalled inputs like any
// other, so that a search goes on after every crash of either side. The client knows trials by
// request ids of its own. Source: Determined up to 0.37, searcher events and operations.
//
//   trial:   created ──(validate after)──▶ trains ──▶ validation completed ──(validate after |
//   close)──▶ … closed
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/method.h"

namespace muster::search {

enum class CustomEventKind : std::uint8_t {
  kInitialOperations = 0,
  kTrialCreated = 1,
  kValidationCompleted = 2,
  kTrialClosed = 3,
  kTrialExitedEarly = 4,
};
/// An event that the client is shown.
struct CustomEvent {
  std::uint64_t id = 0;
  CustomEventKind kind = CustomEventKind::kInitialOperations;
  std::string request = {};  ///< of the trial
  double metric = 0;         ///< of a validation, as it was reported; may be NaN
  std::uint64_t length = 0;  ///< units of training after which the validation was wanted
  TrialExit exit = TrialExit::kCompleted;  ///< of a trial that exited early
  void archive(Archive& archive) { archive.fields(id, kind, request, metric, length, exit); }
  friend bool operator==(const CustomEvent&, const CustomEvent&) = default;
};

/// The most trials of a custom search. All that a search remembers is journalled with each of its
/// decisions, and its client must not make it grow without bound.
inline constexpr std::uint32_t kCustomTrialMax = 10'000;
inline constexpr std::size_t kCustomTargetsMax = 100;  ///< of one trial, still to be reached
inline constexpr std::uint64_t kCustomWaitingMax =
    std::uint64_t{1} << 20;  ///< bytes of hyperparameters of trials that have not begun

class CustomMethod final : public SearchMethod {
 public:
  CustomMethod();
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  void operate(const OperationsInput& input, std::span<const Json> hparams,
               std::vector<StopTrial>& stops) override;
  bool sees_raw_metrics() const override { return true; }
  std::uint32_t natural_concurrency() const override { return kTrialMax; }
  bool is_open() const override { return !verdict_; }
  std::optional<SearchOutcome> verdict() const override { return verdict_; }
  double progress(double trials) const override;
  void archive(Archive& archive) override;

  /// Returns the events that have not been answered, oldest first.
  const std::vector<CustomEvent>& events() const { return events_; }
  /// Returns the number of the last event that there was.
  std::uint64_t last_event() const { return last_event_; }
  /// Returns the checkpoints that trials which have not begun will begin with.
  std::vector<std::string> sources() const;
  /// Checks whether the input can be carried out. Errors: kInvalidArgument, kNotFound,
  /// kAlreadyExists, kFailedPrecondition. operate() passes over what cannot.
  Status check(const OperationsInput& input) const;

 private:
  struct Member {
    std::string request;
    Json hparams;                     ///< until it has begun
    std::uint64_t hparams_bytes = 0;  ///< so too
    std::string source;
    std::optional<TrialReport> reached;  ///< what it reported last
    std::vector<std::uint64_t> targets;  ///< how far it is still to train, the nearest first
    std::optional<TrialIndex> trial;     ///< once it has begun
    bool trains = false;                 ///< for the first of its targets
    bool is_closing = false;             ///< once it has reached them all
    bool is_over = false;
    void archive(Archive& archive) {
      archive.fields(request, hparams, hparams_bytes, source, reached, targets, trial, trains,
                     is_closing, is_over);
    }
  };
  Member* find(std::string_view request);
  const Member* find(std::string_view request) const;
  Status check(const SearchOperation& one) const;
  void apply(const SearchOperation& one, const Json& hparams, std::vector<StopTrial>& stops);
  CustomEvent& add_event(CustomEventKind kind, const std::string& request);
  void add_validation(const Member& member, std::uint64_t length);
  void end(Member& member, StopCause cause, std::vector<StopTrial>& stops);
  void forget_hparams(Member& member);
  void end_if_done(Member& member, std::vector<StopTrial>& stops);
  void index();

  std::vector<Member> members_;         ///< in the order of their creation
  std::vector<std::uint32_t> wanting_;  ///< members with targets that do not train, longest first
  std::vector<CustomEvent> events_;
  std::uint64_t last_event_ = 0;
  std::uint64_t answered_ = 0;  ///< the last event that operations were given for
  double progress_ = 0;
  std::uint64_t waiting_bytes_ = 0;  ///< of hyperparameters of trials that have not begun
  std::optional<SearchOutcome> verdict_;
  // These follow from the members above.
  std::map<std::string, std::uint32_t, std::less<>> by_request_;
  std::map<TrialIndex, std::uint32_t> by_trial_;
};

}  // namespace muster::search
