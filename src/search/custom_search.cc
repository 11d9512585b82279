// The client decides; the method holds what it has not yet heard of and what it has asked for.
// Events are numbered from 1 and wait until one is answered; an answer names the event that it
// follows, so that a client which repeats itself is heard once.

#include "search/custom_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster::search {

CustomMethod::CustomMethod() { add_event(CustomEventKind::kInitialOperations, ""); }

// Lifetime of the reference: until the next event.
CustomEvent& CustomMethod::add_event(CustomEventKind kind, const std::string& request) {
  events_.push_back({++last_event_, kind, request});
  return events_.back();
}

const CustomMethod::Member* CustomMethod::find(std::string_view request) const {
  const auto found = by_request_.find(request);
  return found == by_request_.end() ? nullptr : &members_[found->second];
}
CustomMethod::Member* CustomMethod::find(std::string_view request) {
  const auto found = by_request_.find(request);
  return found == by_request_.end() ? nullptr : &members_[found->second];
}

std::optional<WantedRun> CustomMethod::next_run(SearchView& view) {
  if (wanting_.empty()) return std::nullopt;
  const std::uint32_t number = wanting_.front();
  wanting_.erase(wanting_.begin());
  Member& member = members_[number];
  member.trains = true;
  WantedRun run;
  run.target = member.targets.front();
  if (member.trial) {
    run.trial = member.trial;
    return run;
  }
  member.trial = view.next_trial;
  by_trial_[view.next_trial] = number;
  run.hparams = std::move(member.hparams);
  // A trial that began has them itself; only those that wait count against the bound.
  forget_hparams(member);
  run.source = member.source;
  return run;
}

void CustomMethod::add_validation(const Member& member, std::uint64_t length) {
  CustomEvent& event = add_event(CustomEventKind::kValidationCompleted, member.request);
  event.metric = member.reached->metric;
  event.length = length;
}

std::vector<std::string> CustomMethod::sources() const {
  // Of trials that have not begun: the checkpoint that they will begin from must not be deleted.
  std::vector<std::string> found;
  for (const Member& member : members_) {
    if (!member.trial && !member.is_over && !member.source.empty()) found.push_back(member.source);
  }
  return found;
}

/// A report may have gone past several of the places where the client wanted one.
void CustomMethod::reported(TrialIndex trial, const TrialReport& report,
                            std::vector<StopTrial>& stops) {
  const std::uint32_t number = by_trial_.at(trial);
  Member& member = members_[number];
  member.trains = false;
  member.reached = report;
  while (!member.targets.empty() && report.time >= static_cast<double>(member.targets.front())) {
    add_validation(member, member.targets.front());
    member.targets.erase(member.targets.begin());
  }
  if (!member.targets.empty()) wanting_.push_back(number);
  end_if_done(member, stops);
}

void CustomMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double>,
                          std::vector<StopTrial>&) {
  Member& member = members_[by_trial_.at(trial)];
  if (member.is_over) return;
  // Complete though more was asked of it: to the client that is too early.
  const bool is_early = exit != TrialExit::kCompleted || !member.targets.empty();
  member.is_over = true;
  member.trains = false;
  member.targets.clear();
  // It may have waited for its turn to go on.
  std::erase(wanting_, by_trial_.at(trial));
  if (is_early) add_event(CustomEventKind::kTrialExitedEarly, member.request).exit = exit;
  add_event(CustomEventKind::kTrialClosed, member.request);
}

void CustomMethod::forget_hparams(Member& member) {
  member.hparams = Json();
  waiting_bytes_ -= std::exchange(member.hparams_bytes, 0);
}

void CustomMethod::end(Member& member, StopCause cause, std::vector<StopTrial>& stops) {
  member.is_over = true;
  member.trains = false;
  member.targets.clear();
  forget_hparams(member);
  std::erase(wanting_, by_request_.find(member.request)->second);
  if (member.trial) stops.push_back({*member.trial, {cause, 0, 0, 0, 0, 0}});
  add_event(CustomEventKind::kTrialClosed, member.request);
}

void CustomMethod::end_if_done(Member& member, std::vector<StopTrial>& stops) {
  if (member.is_closing && !member.is_over && member.targets.empty())
    end(member, StopCause::kClosed, stops);
}

double CustomMethod::progress(double) const { return verdict_ ? 1 : progress_; }

// ---- operations ----

Status CustomMethod::check(const SearchOperation& one) const {
  if (one.verb == SearchVerb::kShutDown) return {};
  if (one.verb == SearchVerb::kSetProgress) {
    if (one.progress >= 0 && one.progress <= 1) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("progress {}: give a number from 0 to 1", one.progress), "");
  }
  if (one.request.empty())
    return fail(ErrorCode::kInvalidArgument, "requestId is missing: which trial?", "");
  const Member* member = find(one.request);
  if (one.verb == SearchVerb::kCreate) {
    if (member != nullptr)
      return fail(ErrorCode::kAlreadyExists,
                  fmt::format("trial {} was created before", one.request),
                  "give each trial a request id of its own");
    if (members_.size() >= kCustomTrialMax) {
      return fail(ErrorCode::kFailedPrecondition,
                  fmt::format("a custom search has at most {} trials", kCustomTrialMax),
                  "begin another experiment");
    }
    // Bounded because the whole state is stored at every step of the search.
    if (waiting_bytes_ + one.hparams.size() > kCustomWaitingMax) {
      return fail(ErrorCode::kFailedPrecondition,
                  fmt::format("trials that have not begun have more than {} KiB of hyperparameters",
                              kCustomWaitingMax >> 10),
                  "let some begin before others are created, and keep what is large in a file "
                  "beside the code");
    }
    return {};
  }
  if (member == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no trial with request id {}", one.request),
                "create it first");
  if (one.verb == SearchVerb::kClose) return {};
  if (one.length == 0)
    return fail(ErrorCode::kInvalidArgument,
                "length: give the units of training since the trial's beginning, at least 1", "");
  if (member->targets.size() >= kCustomTargetsMax) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("trial {} has {} validations to come", one.request, kCustomTargetsMax),
                "wait for some of them");
  }
  if (member->is_over || member->is_closing) {
    return fail(ErrorCode::kFailedPrecondition, fmt::format("trial {} is closed", one.request),
                "it cannot train on");
  }
  return {};
}

Status CustomMethod::check(const OperationsInput& input) const {
  if (input.trigger > last_event_) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("triggeredByEvent: there is no event {} yet", input.trigger),
                "answer an event of searcher_events");
  }
  // A repeat, or an answer after the end: operate() will ignore it, so it is no error.
  if (verdict_ || input.trigger <= answered_) return {};
  // Each operation is checked as if those before it were done: a list may create a trial and let
  // it train.
  CustomMethod rehearsal = *this;
  std::vector<StopTrial> ignored;
  for (const SearchOperation& one : input.operations) {
    if (Status checked = rehearsal.check(one); !checked.has_value()) return checked;
    rehearsal.apply(one, Json(), ignored);
  }
  return {};
}

void CustomMethod::apply(const SearchOperation& one, const Json& hparams,
                         std::vector<StopTrial>& stops) {
  Member* member = find(one.request);
  switch (one.verb) {
    case SearchVerb::kCreate: {
      by_request_[one.request] = static_cast<std::uint32_t>(members_.size());
      Member created;
      created.request = one.request;
      created.hparams = hparams;
      created.hparams_bytes = one.hparams.size();
      waiting_bytes_ += one.hparams.size();
      created.source = one.source;
      members_.push_back(std::move(created));
      add_event(CustomEventKind::kTrialCreated, one.request);
      return;
    }
    case SearchVerb::kValidateAfter:
      // Only of one that waits: one that trains will report again, and past this place.
      if (!member->trains && member->reached &&
          member->reached->time >= static_cast<double>(one.length)) {
        return add_validation(*member, one.length);  // it has been there
      }
      member->targets.push_back(one.length);
      // Sorted, as the client may ask for an earlier place after a later one.
      std::ranges::sort(member->targets);
      // With more than one it is in the queue already.
      if (!member->trains && member->targets.size() == 1)
        wanting_.push_back(by_request_.find(one.request)->second);
      return;
    case SearchVerb::kClose: member->is_closing = true; return end_if_done(*member, stops);
    case SearchVerb::kSetProgress: progress_ = one.progress; return;
    case SearchVerb::kShutDown:
      // One that waits ends at once, one that trains is asked to stop.
      for (Member& open : members_) {
        if (!open.is_over) end(open, StopCause::kSearchOver, stops);
      }
      verdict_ = one.outcome;
      return;
  }
}

void CustomMethod::operate(const OperationsInput& input, std::span<const Json> hparams,
                           std::vector<StopTrial>& stops) {
  if (input.trigger <= answered_ || input.trigger > last_event_) return;
  answered_ = input.trigger;
  // All events up to the one that is answered: the client read them in order.
  std::erase_if(events_, [&](const CustomEvent& event) { return event.id <= input.trigger; });
  // After kShutDown nothing in the list counts.
  for (std::size_t i = 0; i < input.operations.size() && !verdict_; ++i) {
    // What has become impossible since it was checked is left out; the rest still counts.
    if (check(input.operations[i]).has_value()) apply(input.operations[i], hparams[i], stops);
  }
}

void CustomMethod::archive(Archive& archive) {
  archive.fields(members_, wanting_, events_, last_event_, answered_, progress_, waiting_bytes_,
                 verdict_);
  // Both maps follow from the members, and are not stored.
  if (archive.is_reading()) index();
}

void CustomMethod::index() {
  by_request_.clear();
  by_trial_.clear();
  for (std::uint32_t i = 0; i < members_.size(); ++i) {
    by_request_[members_[i].request] = i;
    if (members_[i].trial) by_trial_[*members_[i].trial] = i;
  }
}

}  // namespace muster::search
