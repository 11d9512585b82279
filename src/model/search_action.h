// The decisions of a search: which trials to create, to continue and to stop, and that it is over.
// They are journalled as they are, so that replay never repeats a search's arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/id.h"
#include "model/json.h"

namespace muster {

/// A trial's number within its experiment, from 0 in the order of creation.
using TrialIndex = Id<struct TrialIndexTag, std::uint32_t>;

/// Why a search ended a trial.
enum class StopCause : std::uint8_t {
  kTrained = 0,     ///< it has had all the training that the search gives
  kRungCut = 1,     ///< others were better at a rung
  kReplaced = 2,    ///< a copy of a better member replaces it
  kSearchOver = 3,  ///< it waited, and the search goes no further
  kClosed = 4,      ///< the client of a custom search closed it
};

/// A stop's reason in full: rank 0 is the best of `count` at that rung, the first `cut` of which go
/// on.
struct StopReason {
  StopCause cause = StopCause::kTrained;
  std::uint32_t bracket = 0;
  std::uint32_t rung = 0;
  std::uint32_t rank = 0;
  std::uint32_t cut = 0;
  std::uint32_t count = 0;
  friend bool operator==(const StopReason&, const StopReason&) = default;
};

/// Creates a trial. Without a target it trains until it ends by itself or is stopped; with one
/// until the first report at or past it, and waits there.
struct CreateTrial {
  TrialIndex trial;
  std::uint32_t seed = 0;  ///< below 2^31
  std::uint32_t bracket = 0;
  Json hparams;
  std::optional<std::uint64_t> target;  ///< units of training, counted from the trial's beginning
  std::optional<TrialIndex> clone_of;   ///< begins with that trial's last checkpoint
  std::string source =
      {};  ///< the uuid of the checkpoint that it begins with; empty: none of its own
  friend bool operator==(const CreateTrial&, const CreateTrial&) = default;
};
/// Lets a waiting trial train on.
struct ContinueTrial {
  TrialIndex trial;
  std::uint64_t target = 0;
  friend bool operator==(const ContinueTrial&, const ContinueTrial&) = default;
};
/// Ends a trial as completed, whether it trains or waits.
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

enum class SearchVerb : std::uint8_t {
  kCreate = 0,         ///< a trial with these hyperparameters; it waits for kValidateAfter to begin
  kValidateAfter = 1,  ///< it trains until it has had `length` units since its beginning
  kClose = 2,          ///< it ends when it has done its operations
  kShutDown = 3,       ///< the search ends, with `outcome`
  kSetProgress = 4,    ///< of the search as a whole
};
/// An operation that the client of a custom search asks for. Trials are named by the client's own
/// request ids. Source: Determined up to 0.37, searcher operations.
struct SearchOperation {
  SearchVerb verb = SearchVerb::kCreate;
  std::string request;
  std::string hparams = {};  ///< a JSON object
  std::string source = {};   ///< the checkpoint to begin with; empty: none
  std::uint64_t length = 0;  ///< units of training
  SearchOutcome outcome = SearchOutcome::kCompleted;
  double progress = 0;  ///< 0..1
  friend bool operator==(const SearchOperation&, const SearchOperation&) = default;
};

/// A validation: the searcher metric (NaN allowed) after so many units of training.
struct TrialReport {
  double metric = 0;
  double time = 0;
  friend bool operator==(const TrialReport&, const TrialReport&) = default;
};

}  // namespace muster
