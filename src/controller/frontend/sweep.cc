#include "controller/frontend/sweep.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "codec/words.h"

namespace muster::frontend {
namespace {

/// Looking at a job that is not meant costs a small part of doing something to one.
constexpr std::size_t kLookedAtPerJob = 16;

Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied", "only its owner or an operator may do this"};
}

}  // namespace

Sweep::Sweep(Request request, const Identity& identity, const ClusterState& state)
    : request_(std::move(request)), identity_(identity), end_(state.next_job()) {
  if (auto* cancel = std::get_if<CancelJobs>(&request_)) {
    is_filter_ = cancel->filter.jobs.empty();
    selectors_ = std::move(cancel->filter.jobs);
    cancel->filter.jobs.clear();
  } else if (auto* control = std::get_if<ControlJobs>(&request_)) {
    selectors_ = std::move(control->jobs);
  } else if (const auto& update = std::get<PreparedUpdate>(request_);
             auto selector = parse_update_selector(update.name)) {
    // How many of an array run at once is the array's, whichever of its elements are named.
    const bool is_of_array =
        update.values.size() == 1 && lower(update.values.front().first) == "arraytaskthrottle";
    if (is_of_array) {
      if (const auto named = name_jobs(state, *selector, nullptr); !named.has_value()) {
        refuse(named.error());
        return;
      }
      selector = JobSelector{selector->job, {}, false, std::nullopt};
    }
    selectors_.push_back(std::move(*selector));
  } else {
    refuse(Error{ErrorCode::kNotFound, "Invalid job id specified", update.name});
  }
  is_done_ = is_done_ || (!is_filter_ && selectors_.empty());
}

std::size_t Sweep::step(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders) {
  if (is_done_) return 0;
  if (is_filter_) return step_filter(draft, jobs, orders);
  std::size_t done = 0;
  for (; done < jobs && !is_done_; ++done) {
    if (!is_open_) open(draft);
    if (!is_open_) continue;  // refused as a whole
    const std::size_t records = named_.records.size();
    if (done_of_named_ < records) {
      do_one(draft, named_.records[done_of_named_++], orders);
    } else if (done_of_named_ < records + named_.elements.size()) {
      const std::uint32_t index = named_.elements[done_of_named_++ - records];
      const Job* array = draft.state().jobs().find(selectors_[at_].job);
      // It may have left since the selector was opened.
      const auto id = array == nullptr ? std::nullopt : element_of(draft.state(), *array, index, may_split() ? &draft : nullptr);
      if (id) do_one(draft, *id, orders);
    }
    if (is_open_ && done_of_named_ == records + named_.elements.size()) close();
  }
  return done;
}

std::size_t Sweep::step_filter(Draft& draft, std::size_t jobs, std::vector<SignalOrder>& orders) {
  const ClusterState& state = draft.state();
  const auto& filter = std::get<CancelJobs>(request_).filter;
  const std::size_t cost_max = jobs > kAll / kLookedAtPerJob ? kAll : jobs * kLookedAtPerJob;
  std::size_t cost_left = cost_max;
  bool is_through = true;
  state.jobs().for_each_from(next_, [&](const Job& job) {
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
    if (!verdict.is_meant) return true;
    JobOutcome outcome;
    outcome.job.job = job.id;
    outcome.error = verdict.refusal;
    reply_.outcomes.push_back(std::move(outcome));
    return true;
  });
  is_done_ = is_through;
  return (cost_max - cost_left + kLookedAtPerJob - 1) / kLookedAtPerJob;
}

/// Signals alone do not take an array apart.
bool Sweep::may_split() const {
  const auto* cancel = std::get_if<CancelJobs>(&request_);
  return cancel == nullptr || cancel->signal == 0 || cancel->signal == SIGKILL;
}

/// Finds out what the next selector names. The owner is checked first, because an element that the draft splits off has no record
/// that could be asked.
void Sweep::open(const Draft& draft) {
  const JobSelector& selector = selectors_[at_];
  const ClusterState& state = draft.state();
  named_ = {};
  done_of_named_ = 0;
  is_any_done_ = false;
  first_refusal_.reset();
  is_open_ = true;
  if (selector.step) return close();  // a step is another request's
  const Job* job = state.jobs().find(selector.job);
  if (job != nullptr && !may_control(*job, identity_)) {
    first_refusal_ = not_allowed();
    return close();
  }
  auto named = name_jobs(state, selector, may_split() ? &draft : nullptr);
  if (!named.has_value()) {
    first_refusal_ = named.error();
    return close();
  }
  named_ = std::move(named).value();
}

/// One outcome for the whole selector: the first refusal unless something of it could be done.
void Sweep::close() {
  is_open_ = false;
  const JobSelector& selector = selectors_[at_++];
  std::optional<Error> refusal = is_any_done_ ? std::nullopt : std::exchange(first_refusal_, {});
  if (std::holds_alternative<PreparedUpdate>(request_)) {
    if (refusal) return refuse(std::move(*refusal));
  } else {
    const auto* cancel = std::get_if<CancelJobs>(&request_);
    if (cancel != nullptr && cancel->is_lenient && refusal && refusal->code != ErrorCode::kPermissionDenied) refusal.reset();
    reply_.outcomes.push_back(JobOutcome{selector, std::move(refusal)});
  }
  is_done_ = is_done_ || at_ == selectors_.size();
}

void Sweep::refuse(Error error) {
  reply_.error = std::move(error);
  is_done_ = true;
}

void Sweep::do_one(Draft& draft, JobId id, std::vector<SignalOrder>& orders) {
  if (!seen_.insert(id).second) {
    is_any_done_ = true;
    return;
  }
  Verdict verdict = act(draft, id, orders);
  if (!verdict.is_meant) return;
  is_any_done_ = is_any_done_ || !verdict.refusal;
  if (!verdict.refusal) return;
  // An edit that one job does not take is refused; those before it keep theirs when they were done in an earlier step.
  if (std::holds_alternative<PreparedUpdate>(request_)) {
    is_open_ = false;
    return refuse(std::move(*verdict.refusal));
  }
  if (!first_refusal_) first_refusal_ = std::move(verdict.refusal);
}

Verdict Sweep::act(Draft& draft, JobId id, std::vector<SignalOrder>& orders) {
  if (const auto* cancel = std::get_if<CancelJobs>(&request_)) return cancel_one(draft, id, *cancel, identity_, orders);
  const Job* known = draft.state().jobs().find(id);
  const Job* job = known != nullptr ? known : draft.state().jobs().find(selectors_[at_].job);
  if (job == nullptr) return Verdict{false, {}};  // gone between two steps
  if (const auto* control = std::get_if<ControlJobs>(&request_)) return control_one(draft, id, *job, control->verb, identity_);
  const bool is_alone = named_.records.size() + named_.elements.size() == 1;
  return update_one(draft, id, *job, std::get<PreparedUpdate>(request_), identity_, is_alone);
}

}  // namespace muster::frontend
