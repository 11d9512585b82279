// A sweep goes through its selectors in their order: open() finds out what one names, step_named()
// does one thing for it at a time, close() words the outcome. A filter goes through all jobs by id
// instead. Costs are counted in looks, so that a step is bounded also where nearly nothing is
// meant.
#include "workload/requests/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <utility>

#include "access/job_access.h"
#include "text/words.h"

namespace muster::requests {
namespace {

/// Looking at a job that is not meant costs a small part of doing something to one.
constexpr std::size_t kLookedAtPerJob = 16;

Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
               "only its owner or an operator may do this"};
}
Error unknown_id() { return Error{ErrorCode::kNotFound, "Invalid job id specified", ""}; }

/// What can be done to a job that waits.
bool is_for_waiting(JobVerb verb) {
  return verb == JobVerb::kHold || verb == JobVerb::kUserHold || verb == JobVerb::kRelease;
}

/// What can be done to a job that is over.
bool is_requeue(JobVerb verb) {
  return verb == JobVerb::kRequeue || verb == JobVerb::kRequeueHold ||
         verb == JobVerb::kRequeueSpecialExit;
}
Error over_with_its_array(JobId array) {
  return Error{
      ErrorCode::kFailedPrecondition, "Job/step already completing or completed",
      fmt::format("it ended together with other elements before any of them began: all that "
                  "squeue -t all shows as one {}_[...] come back at once, or none",
                  array.value())};
}

/// As many looks as so many jobs cost.
std::size_t looks_of(std::size_t jobs) {
  return jobs > Sweep::kAll / kLookedAtPerJob ? Sweep::kAll : jobs * kLookedAtPerJob;
}
std::size_t jobs_of(std::size_t looks) { return (looks + kLookedAtPerJob - 1) / kLookedAtPerJob; }

/// The lowest member from `first` on.
std::optional<std::uint32_t> member_from(const Bitmap& set, std::uint32_t first) {
  const std::vector<std::uint64_t>& words = set.words();
  for (std::size_t w = first / 64; w < words.size(); ++w) {
    const std::uint64_t skipped = w == first / 64 ? first % 64 : 0;
    // Bits below `first` are masked in the first word alone.
    const std::uint64_t word = words[w] & (~std::uint64_t{0} << skipped);
    if (word != 0)
      return static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
  }
  return std::nullopt;
}

}  // namespace

Sweep::Sweep(Request request, const Identity& identity, const ClusterState& state)
    : request_(std::move(request)), identity_(identity), end_(state.next_job()) {
  if (auto* cancel = get_if<CancelJobs>(&request_)) {
    is_filter_ = cancel->filter.jobs.empty();
    selectors_ = std::move(cancel->filter.jobs);
    cancel->filter.jobs.clear();
  } else if (auto* control = get_if<ControlJobs>(&request_)) {
    selectors_ = std::move(control->jobs);
  } else if (const auto& update = get<PreparedUpdate>(request_);
             auto selector = parse_update_selector(update.name)) {
    // How many of an array run at once is the array's, whichever of its elements are named.
    const bool is_of_array =
        update.values.size() == 1 && lower(update.values.front().first) == "arraytaskthrottle";
    if (is_of_array) {
      const auto named = resolve(state, *selector);
      if (!named.has_value() || named->empty()) {
        refuse(unknown_id());
        return;
      }
      selector = JobSelector{selector->job, {}, false, std::nullopt};
    }
    selectors_.push_back(std::move(*selector));
  } else {
    // The update names jobs in one text, and this one is no selector.
    refuse(Error{ErrorCode::kNotFound, unknown_id().message, update.name});
  }
  is_done_ = is_done_ || (!is_filter_ && selectors_.empty());
}

std::size_t Sweep::step(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders) {
  if (is_done_) return 0;
  if (is_filter_) return step_filter(draft, jobs, orders);
  const std::size_t cost_max = looks_of(jobs);
  // May exceed its bound by the last thing done, which costs one job at most.
  std::size_t cost = 0;
  while (cost < cost_max && !is_done_) cost += step_named(draft, orders);
  return jobs_of(cost);
}

/// Does one thing more for the selectors. Returns the cost in looks.
std::size_t Sweep::step_named(Draft& draft, std::vector<SignalOrder>& orders) {
  if (!is_open_) return open(draft);
  if (done_records_ < named_.records.size()) {
    const auto refusal = do_one(draft, named_.records[done_records_++], orders);
    if (refusal && selectors_[at_].is_element) {
      refused_for(*refusal) |= named_.in_record;
    } else if (refusal && !first_refusal_) {
      first_refusal_ = refusal;
    }
    return kLookedAtPerJob;
  }
  if (const auto index = member_from(named_.elements, next_element_)) {
    next_element_ = *index + 1;
    return do_element(draft, *index, orders);
  }
  close();
  return 1;
}

/// Conditions are judged on the record that stands for the element: what is not meant stays in it.
std::size_t Sweep::do_element(Draft& draft, std::uint32_t index, std::vector<SignalOrder>& orders) {
  const ClusterState& state = draft.state();
  const Job* array = state.jobs().find(selectors_[at_].job);
  const Job* record = array == nullptr ? nullptr : record_of_element(state, *array, index);
  if (record == nullptr) {
    refused_for(unknown_id()).set(index);
    return 1;
  }
  if (!is_meant(state, *record)) return 1;
  const bool is_to_split = record == array && !array->array_index && may_split();
  const auto* control = get_if<ControlJobs>(&request_);
  if (is_to_split && control != nullptr && array->is_pending() && !is_for_waiting(control->verb)) {
    // What waits is refused: no element leaves its record for that.
    const Verdict verdict = control_one(draft, array->id, *array, control->verb, identity_);
    if (verdict.refusal) {
      refused_for(*verdict.refusal).set(index);
      return 1;
    }
  }
  if (is_to_split && control != nullptr && is_finished(array->state) && is_requeue(control->verb)) {
    refused_for(over_with_its_array(array->id)).set(index);
    return 1;
  }
  const JobId id = is_to_split ? split_element(*array, index, draft) : record->id;
  if (const auto refusal = do_one(draft, id, orders)) refused_for(*refusal).set(index);
  return kLookedAtPerJob;
}

/// Of the elements that are named those that are not there are refused together, and those that
/// still stand in their array's record are passed over together where that is not meant: they may
/// be millions. Returns the cost in looks.
std::size_t Sweep::sift_elements(const ClusterState& state) {
  constexpr std::size_t kSplitPerLook = 256;
  const Job* array = state.jobs().find(selectors_[at_].job);
  if (array->array == nullptr) return 0;
  Bitmap there = array->array->remaining.indices;
  const auto* split = state.jobs().elements(array->id);
  if (split != nullptr) {
    for (const auto& [index, id] : *split) there.set(index);
  }
  Bitmap absent = named_.elements;
  absent -= there;
  if (!absent.empty()) refused_for(unknown_id()) |= absent;
  named_.elements -= absent;
  if (!is_meant(state, *array)) {
    // Elements that have split off are records of their own and are asked one by one.
    Bitmap standing = array->array->remaining.indices;
    if (split != nullptr) {
      for (const auto& [index, id] : *split) standing.reset(index);
    }
    named_.elements -= standing;
  }
  return (split == nullptr ? 0 : split->size()) / kSplitPerLook;
}

bool Sweep::is_meant(const ClusterState& state, const Job& record) const {
  const auto* cancel = get_if<CancelJobs>(&request_);
  return cancel == nullptr || matches(state, record, cancel->filter);
}

std::size_t Sweep::step_filter(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders) {
  const ClusterState& state = draft.state();
  const auto& filter = get<CancelJobs>(request_).filter;
  const std::size_t cost_max = looks_of(jobs);
  std::size_t cost_left = cost_max;
  bool is_through = true;
  state.jobs().for_each_from(next_, [&](const Job& job) {
    // What was submitted after the request came is not meant by it; else a sweep might never end.
    if (job.id >= end_) return false;
    if (cost_left == 0) {
      next_ = job.id;
      is_through = false;
      return false;
    }
    --cost_left;
    if (is_finished(job.state) || !matches(state, job, filter)) return true;
    if (!identity_.is_operator && job.spec->user != identity_.user) return true;
    cost_left -= std::min(cost_left, kLookedAtPerJob - 1);
    const Verdict verdict = act(draft, job.id, orders);
    // Not meant after all: nothing of that array is left.
    if (!verdict.is_meant) return true;
    JobOutcome outcome;
    outcome.job.job = job.id;
    outcome.error = verdict.refusal;
    reply_.outcomes.push_back(std::move(outcome));
    return true;
  });
  is_done_ = is_through;
  return jobs_of(cost_max - cost_left);
}

/// Signals alone do not take an array apart.
bool Sweep::may_split() const {
  const auto* cancel = get_if<CancelJobs>(&request_);
  return cancel == nullptr || cancel->signal == 0 || cancel->signal == SIGKILL;
}

bool Sweep::is_lenient_to(const Error& error) const {
  const auto* cancel = get_if<CancelJobs>(&request_);
  return cancel != nullptr && cancel->is_lenient && error.code != ErrorCode::kPermissionDenied;
}

/// Finds out what the next selector names. The owner is checked first, because an element that the
/// draft splits off has no record that could be asked. Returns the cost in looks.
std::size_t Sweep::open(const Draft& draft) {
  constexpr std::size_t kWordsPerLook = 4096;
  const JobSelector& selector = selectors_[at_];
  const ClusterState& state = draft.state();
  named_ = {};
  done_records_ = 0;
  next_element_ = 0;
  is_any_done_ = false;
  first_refusal_.reset();
  refusals_.clear();
  is_open_ = true;
  std::size_t cost = 1 + selector.indices.words().size() / kWordsPerLook;
  if (selector.step) {  // a step is another request's
    close();
    return cost;
  }
  const Job* job = state.jobs().find(selector.job);
  if (job != nullptr && !access::may_control(*job, identity_)) {
    first_refusal_ = not_allowed();
    close();
    return cost;
  }
  auto named = name_jobs(state, selector, draft, may_split());
  if (!named.has_value()) {
    first_refusal_ = named.error();
    close();
    return cost;
  }
  named_ = std::move(named).value();
  // What is told apart of a large array is told apart in all of it, however few are named.
  constexpr std::size_t kArrayWordsPerLook = 1024;
  if (selector.is_element && job->array != nullptr)
    cost += job->array->remaining.indices.words().size() / kArrayWordsPerLook;
  is_alone_ = named_.records.size() + named_.elements.count() == 1;
  if (selector.is_element) {  // what is told of it is no longer than the array
    selectors_[at_].indices = named_.elements;
    selectors_[at_].indices |= named_.in_record;
  }
  constexpr std::size_t kFew = 64;  // looked at one by one
  return cost + (named_.elements.count() > kFew ? sift_elements(state) : 0);
}

/// One outcome for the whole selector: the first refusal unless something of it could be done.
void Sweep::close() {
  is_open_ = false;
  if (!refusals_.empty()) {
    close_elements();
  } else if (is_any_done_ || (first_refusal_ && is_lenient_to(*first_refusal_))) {
    first_refusal_.reset();
  }
  if (holds_alternative<PreparedUpdate>(request_)) {
    if (first_refusal_) return refuse(std::move(*first_refusal_));
  } else if (refusals_.empty()) {
    reply_.outcomes.push_back(JobOutcome{selectors_[at_], std::move(first_refusal_)});
  }
  is_done_ = ++at_ == selectors_.size();
}

/// Some elements were refused: those that were alike are told of together.
void Sweep::close_elements() {
  std::erase_if(refusals_, [this](const Refusal& refusal) { return is_lenient_to(refusal.error); });
  if (refusals_.empty()) return;
  // An update of which nothing could be done is refused as a whole.
  const bool is_update = holds_alternative<PreparedUpdate>(request_);
  if (is_update && !is_any_done_) {
    first_refusal_ = std::move(refusals_.front().error);
    return;
  }
  if (is_any_done_ && !is_update) reply_.outcomes.push_back(JobOutcome{selectors_[at_], {}});
  for (Refusal& refusal : refusals_) {
    JobSelector refused{selectors_[at_].job, std::move(refusal.elements), true, std::nullopt};
    reply_.outcomes.push_back(JobOutcome{std::move(refused), std::move(refusal.error)});
  }
}

void Sweep::refuse(Error error) {
  reply_.error = std::move(error);
  is_done_ = true;
}

/// Where the elements that are refused for that are gathered.
Bitmap& Sweep::refused_for(const Error& error) {
  auto known = std::ranges::find(refusals_, error, &Refusal::error);
  if (known == refusals_.end()) known = refusals_.insert(known, Refusal{error, {}});
  return known->elements;
}

/// Why it was not done.
std::optional<Error> Sweep::do_one(Draft& draft, JobId id, std::vector<SignalOrder>& orders) {
  // Named twice, say by its id and with its array: done once, and that is a success.
  if (!seen_.insert(id).second) {
    is_any_done_ = true;
    return std::nullopt;
  }
  Verdict verdict = act(draft, id, orders);
  if (!verdict.is_meant) return std::nullopt;
  is_any_done_ = is_any_done_ || !verdict.refusal;
  // An edit that one job does not take is refused; those before it keep theirs when they were done
  // in an earlier step.
  if (verdict.refusal && holds_alternative<PreparedUpdate>(request_)) {
    is_open_ = false;
    refuse(std::move(*verdict.refusal));
    return std::nullopt;
  }
  return std::move(verdict.refusal);
}

/// The job's own record; of an element that the draft has just split off its array's. Null: it has
/// left memory since its selector was opened.
const Job* Sweep::record_of(const Draft& draft, JobId id) const {
  const ClusterState& state = draft.state();
  const Job* known = state.jobs().find(id);
  return known != nullptr || id < state.next_job() ? known : state.jobs().find(selectors_[at_].job);
}

Verdict Sweep::act(Draft& draft, JobId id, std::vector<SignalOrder>& orders) {
  const Job* job = record_of(draft, id);
  if (job == nullptr) return Verdict{false, {}};
  if (const auto* cancel = get_if<CancelJobs>(&request_))
    return cancel_one(draft, id, *job, *cancel, identity_, orders);
  if (const auto* control = get_if<ControlJobs>(&request_))
    return control_one(draft, id, *job, control->verb, identity_);
  return update_one(draft, id, *job, get<PreparedUpdate>(request_), identity_,
                    UpdateSweep{is_alone_, node_lists_});
}

}  // namespace muster::requests
