// What a search decides: trials to create, to take further and to stop, and that it is over. Journalled as they are, so that
// replay never repeats a search's arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/id.h"
#include "model/json.h"

namespace muster {

/// A trial's number within its experiment, from 0 in the order of creation.
using TrialIndex = Id<struct TrialIndexTag, std::uint32_t>;

/// Why a search ended a trial.
enum class StopCause : std::uint8_t {
  kTrained = 0,      ///< it has had all the training that the search gives
  kRungCut = 1,      ///< others were better at a rung
  kReplaced = 2,     ///< a copy of a better member takes its place
  kSearchOver = 3,   ///< it waited, and the search goes no further
};

/// The whole of it: rank 0 is the best of `count` at that rung, the first `cut` of which go on.
struct StopReason {
  StopCause cause = StopCause::kTrained;
  std::uint32_t bracket = 0;
  std::uint32_t rung = 0;
  std::uint32_t rank = 0;
  std::uint32_t cut = 0;
  std::uint32_t count = 0;
  friend bool operator==(const StopReason&, const StopReason&) = default;
};

/// A new trial. Without a target it trains until it ends by itself or is stopped; with one until the first report at or past
/// it, and waits there.
struct CreateTrial {
  TrialIndex trial;
  std::uint32_t seed = 0;  ///< below 2^31
  std::uint32_t bracket = 0;
  Json hparams;
  std::optional<std::uint64_t> target;  ///< units of training, counted from the trial's beginning
  std::optional<TrialIndex> clone_of;   ///< begins with that trial's last checkpoint
  friend bool operator==(const CreateTrial&, const CreateTrial&) = default;
};
/// A waiting trial trains on.
struct ContinueTrial {
  TrialIndex trial;
  std::uint64_t target = 0;
  friend bool operator==(const ContinueTrial&, const ContinueTrial&) = default;
};
/// A trial ends as completed, whether it trains or waits.
struct StopTrial {
  TrialIndex trial;
  StopReason reason;
  friend bool operator==(const StopTrial&, const StopTrial&) = default;
};
enum class SearchOutcome : std::uint8_t {
  kCompleted = 0,
  kCanceled = 1,  ///< every trial was
  kFailed = 2,    ///< every trial did
};
struct FinishSearch {
  SearchOutcome outcome = SearchOutcome::kCompleted;
  friend bool operator==(const FinishSearch&, const FinishSearch&) = default;
};
using SearchAction = std::variant<CreateTrial, ContinueTrial, StopTrial, FinishSearch>;

/// How a trial ended that the search did not stop.
enum class TrialExit : std::uint8_t {
  kCompleted = 0,
  kErrored = 1,
  kInvalidHparams = 2,  ///< it said that its hyperparameters make no sense
  kCanceled = 3,        ///< a user ended it
};

/// A validation: the searcher metric (NaN allowed) after so many units of training.
struct TrialReport {
  double metric = 0;
  double time = 0;
  friend bool operator==(const TrialReport&, const TrialReport&) = default;
};

}  // namespace muster
