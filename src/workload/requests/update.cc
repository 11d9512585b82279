// scontrol update: NAME=VALUE pairs of jobs, nodes and partitions. One table of names per kind of
// object.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "access/job_access.h"
#include "admission/job_check.h"
#include "admission/job_numbers.h"
#include "admission/job_texts.h"
#include "admission/text_limits.h"
#include "engine/config_alignment.h"
#include "slurm/array_text.h"
#include "slurm/dependency_text.h"
#include "slurm/duration_text.h"
#include "slurm/hostlist.h"
#include "slurm/request_text.h"
#include "slurm/update_keys.h"
#include "state/resource_need.h"
#include "text/words.h"
#include "workload/dependencies/dependency_circle.h"
#include "workload/requests/holds.h"
#include "workload/requests/sweep.h"

namespace muster::requests {
namespace {

// A setter changes a copy of the spec (JobEdit) and the checks of a submission follow on the whole
// of it; then one JobChanged per job. Errors carry Slurm's texts.
using Refusal = std::optional<Error>;

Error invalid(std::string message, std::string detail) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(detail)};
}
Error unsupported(std::string_view kind, std::string_view name) {
  return invalid(fmt::format("Unsupported {} attribute", kind),
                 fmt::format("'{}' cannot be updated; see scontrol --help", name));
}
Error not_allowed(std::string detail) {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied", std::move(detail)};
}

// ---- jobs ----

struct JobEdit {
  const Draft& draft;
  const ClusterState& state;  ///< the draft's
  const Job& job;
  const Identity& identity;
  const std::vector<DependencyTerm>& past;  ///< as PreparedUpdate
  NodeListMemo& node_lists;                 ///< of the whole command
  JobChanged change;
  std::shared_ptr<JobSpec> spec;  ///< made when a text of it changes
  bool has_new_begin = false;
  std::optional<std::uint32_t> array_throttle;  ///< of the array whose element `job` is
  std::optional<std::uint32_t>
      split_index;  ///< of the element that the draft splits off; `job` is its record then

  JobSpec& edit_spec() {
    if (spec == nullptr) {
      spec = std::make_shared<JobSpec>(*job.spec);
      // Of one that waits what was asked for is changed; its partition's rules follow.
      if (job.is_pending()) drop_memory_rules(*spec);
    }
    return *spec;
  }
  Refusal require_pending() const {
    if (job.is_pending()) return std::nullopt;
    return Error{ErrorCode::kFailedPrecondition, "Job is no longer pending execution",
                 "this can change only while it waits"};
  }
};

Refusal set_time_limit(JobEdit& edit, const std::string& value) {
  const bool is_relative = !value.empty() && (value.front() == '+' || value.front() == '-');
  auto parsed =
      parse_time_limit(is_relative ? std::string_view(value).substr(1) : std::string_view(value));
  if (!parsed.has_value()) return parsed.error();
  Duration limit = parsed.value();
  if (is_relative && edit.job.time_limit.is_infinite())
    return invalid(
        "Requested time limit is invalid (missing or exceeds some limit)",
        fmt::format("'{}': the job has no limit that it could be counted from; give one", value));
  if (is_relative)
    limit = value.front() == '+' ? edit.job.time_limit + limit : edit.job.time_limit - limit;
  // Source: scontrol(1), TimeLimit.
  if (limit > edit.job.time_limit && !edit.job.is_pending() && !edit.identity.is_operator) {
    return not_allowed("only an operator may raise the limit of a running job");
  }
  if (limit <= Duration())
    return invalid("Requested time limit is invalid (missing or exceeds some limit)", value);
  edit.change.time_limit = limit;
  // In the spec as well: a requeued run begins with the new limit.
  edit.edit_spec().time_limit = limit;
  return std::nullopt;
}

/// Zero holds the job, any other lifts its hold and its nice value. Source: scontrol(1), Priority.
Refusal set_priority(JobEdit& edit, const std::string& value) {
  // The highest number below NO_VAL (0xfffffffe in slurm.h), which means none.
  constexpr std::uint32_t kPriorityMax = 4294967293;
  const auto number = parse_whole32(value, kPriorityMax);
  if (!number)
    return invalid("Invalid priority", fmt::format("'{}': use 0 to {}", value, kPriorityMax));
  if (*number == 0) {
    if (auto refused = hold_job(edit.job, edit.identity, false, edit.change)) return refused;
    edit.edit_spec().priority = 0;
    return std::nullopt;
  }
  if (auto refused = check_release_is_due(edit.job)) return refused;
  // What its experiment holds is not the operator's to lift here (check_trial_hold).
  const bool is_held = (edit.job.flags & job_flag::kAnyHold & ~job_flag::kTrialHeld) != 0;
  if (!edit.identity.is_operator && (is_held || *number > edit.job.priority))
    return not_allowed("only an operator may raise a priority");
  if (is_held) {
    if (auto refused = release_job(edit.draft, edit.job, edit.identity, edit.change))
      return refused;
  }
  edit.change.priority = *number;
  edit.edit_spec().priority = *number;
  // A priority that was set is what counts: nice would shift it.
  edit.edit_spec().nice = 0;
  return std::nullopt;
}

Refusal set_nice(JobEdit& edit, const std::string& value) {
  const bool is_negative = !value.empty() && value.front() == '-';
  const auto number =
      parse_whole(is_negative ? std::string_view(value).substr(1) : std::string_view(value));
  if (!number || *number > INT32_MAX)
    return invalid("Invalid nice value, must be between -2147483645 and 2147483645", value);
  if (is_negative && !edit.identity.is_operator)
    return not_allowed("only an operator may use a negative nice value");
  const auto nice = static_cast<std::int32_t>(is_negative ? -static_cast<std::int64_t>(*number)
                                                          : static_cast<std::int64_t>(*number));
  edit.edit_spec().nice = nice;
  // A held job's priority is 0 until it is released.
  if (!edit.job.is_held()) edit.change.priority = 1 - std::int64_t{nice};
  return std::nullopt;
}

Refusal set_partition(JobEdit& edit, const std::string& value) {
  if (auto refused = edit.require_pending()) return refused;
  auto partitions = admission::choose_partitions(edit.state, value);
  if (!partitions.has_value()) return partitions.error();
  edit.change.partitions = std::move(partitions).value();
  edit.edit_spec().text.set(JobText::kPartition, value);
  return std::nullopt;
}

Refusal set_dependency(JobEdit& edit, const std::string& value) {
  if (auto refused = edit.require_pending()) return refused;
  DependencySet set;
  if (!value.empty()) {
    auto parsed = parse_dependency(value);
    if (!parsed.has_value()) return parsed.error();
    set = std::move(parsed).value();
  }
  // A user may name jobs that are long over; the others are checked against the state.
  for (DependencyTerm& term : set.terms) {
    const auto known = std::ranges::find_if(edit.past, [&](const DependencyTerm& decided) {
      return decided.kind == term.kind && decided.job == term.job &&
             decided.array_index == term.array_index;
    });
    // How a job ended that has left memory, the gateway has asked history.
    if (known != edit.past.end()) term.state = known->state;
    if (const Status sound = admission::check_dependency(edit.state, term); !sound.has_value())
      return sound.error();
  }
  edit.change.dependencies = std::move(set);
  edit.edit_spec().text.set(JobText::kDependency, value);
  return std::nullopt;
}

/// `value`: seconds since the epoch; the client knows its own zone.
Refusal set_begin(JobEdit& edit, const std::string& value) {
  if (auto refused = edit.require_pending()) return refused;
  const auto seconds = parse_whole(value);
  // Four times the range of 32 bits: beyond any sensible year, and far from overflow in
  // microseconds.
  if (!seconds || *seconds > INT32_MAX * std::uint64_t{4})
    return invalid("Invalid time specified", value);
  const TimePoint begin = TimePoint::from_seconds(static_cast<std::int64_t>(*seconds));
  edit.edit_spec().begin_time = begin;
  edit.has_new_begin = true;
  return std::nullopt;
}

Refusal set_throttle(JobEdit& edit, const std::string& value) {
  const auto number = parse_whole32(value);
  if (!number) return invalid("Invalid array throttle", value);
  const bool is_record = edit.job.array != nullptr && !edit.split_index;
  const Job* record =
      // The throttle is the array's. Through one of its elements the record is meant, and changes
      // by an event of its own.
      edit.job.array != nullptr ? &edit.job : edit.state.jobs().find(edit.job.array_job);
  if (record == nullptr || record->array == nullptr)
    return invalid("Invalid array throttle",
                   fmt::format("job {} is not an array", edit.job.id.value()));
  (is_record ? edit.change.array_throttle : edit.array_throttle) = *number;
  return std::nullopt;
}

Refusal set_node_count(JobEdit& edit, const std::string& value) {
  if (auto refused = edit.require_pending()) return refused;
  const auto dash = value.find('-');
  const auto low = parse_whole32(std::string_view(value).substr(0, dash));
  const auto high =
      dash == std::string::npos ? low : parse_whole32(std::string_view(value).substr(dash + 1));
  if (!low || !high || *high < *low || *low == 0)
    return invalid("Node count specification invalid", value);
  JobSpec& spec = edit.edit_spec();
  ResourceRequest request = *spec.request;
  // Tasks that were counted by the nodes still are: one on each, or --ntasks-per-node.
  const std::uint64_t per_node = std::max(1U, request.tasks_per_node);
  const bool is_counted_by_nodes = (spec.given & given_option::kTaskCount) == 0 &&
                                   request.task_count == request.min_nodes * per_node;
  if (is_counted_by_nodes) {
    // A product of that size is refused with the others (admission::check_numbers).
    request.task_count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*low * per_node, UINT32_MAX));
  }
  request.min_nodes = *low;
  request.max_nodes = *high;
  spec.request = std::move(request);
  return std::nullopt;
}

Refusal set_requeue(JobEdit& edit, const std::string& value) {
  if (value != "0" && value != "1") return invalid("Invalid requeue value", value + ": use 0 or 1");
  edit.edit_spec().is_requeue = value == "1";
  return std::nullopt;
}

Refusal set_text(JobEdit& edit, JobText key, const std::string& value, bool only_pending) {
  if (only_pending) {
    if (auto refused = edit.require_pending()) return refused;
  }
  JobSpec& spec = edit.edit_spec();
  spec.text.set(key, value);
  // The planner reads the parsed request, not the text: both change together.
  const Status parsed = parse_request_text(spec, key, edit.node_lists);
  if (!parsed.has_value()) return parsed.error();
  return std::nullopt;
}

/// SLURM_SUBMIT_DIR stays where the job was submitted.
Refusal set_work_dir(JobEdit& edit, const std::string& value) {
  if (auto refused = edit.require_pending()) return refused;
  if (value.empty() || value.front() != '/')
    return invalid("Invalid working directory", fmt::format("'{}': write a path from /", value));
  JobSpec& spec = edit.edit_spec();
  if (spec.get(JobText::kSubmitDir).empty())
    spec.text.set(JobText::kSubmitDir, std::string(spec.get(JobText::kWorkDir)));
  spec.text.set(JobText::kWorkDir, value);
  return std::nullopt;
}

Refusal set_admin_comment(JobEdit& edit, const std::string& value) {
  if (!edit.identity.is_operator) return not_allowed("only an operator may set AdminComment");
  return set_text(edit, JobText::kAdminComment, value, false);
}
Refusal append_admin_comment(JobEdit& edit, const std::string& value) {
  const JobSpec& spec = edit.spec != nullptr ? *edit.spec : *edit.job.spec;
  return set_admin_comment(edit, std::string(spec.get(JobText::kAdminComment)) + value);
}

struct JobField {
  using Setter = std::function<Refusal(JobEdit&, const std::string&)>;
  std::string_view name;
  Setter set;
  Setter append = nullptr;  ///< what += does; null: it is refused
};

auto text_field(JobText key, bool only_pending) {
  return [key, only_pending](JobEdit& edit, const std::string& value) {
    return set_text(edit, key, value, only_pending);
  };
}

/// Which keys exist is said in slurm/update_keys.h; here is what each does.
const std::vector<JobField>& job_fields() {
  static const std::vector<JobField> kFields = {
      {"timelimit", set_time_limit},
      {"priority", set_priority},
      {"nice", set_nice},
      {"partition", set_partition},
      {"dependency", set_dependency},
      {"starttime", set_begin},
      {"eligibletime", set_begin},
      {"arraytaskthrottle", set_throttle},
      {"numnodes", set_node_count},
      {"requeue", set_requeue},
      {"jobname", text_field(JobText::kName, false)},
      {"name", text_field(JobText::kName, false)},
      {"comment", text_field(JobText::kComment, false)},
      {"admincomment", set_admin_comment, append_admin_comment},
      {"extra", text_field(JobText::kExtra, false)},
      {"account", text_field(JobText::kAccount, false)},
      {"qos", text_field(JobText::kQos, false)},
      {"wckey", text_field(JobText::kWckey, false)},
      {"mailuser", text_field(JobText::kMailUser, false)},
      {"features", text_field(JobText::kFeatures, true)},
      {"reqnodelist", text_field(JobText::kNodeList, true)},
      {"excnodelist", text_field(JobText::kExcludeList, true)},
      {"stdout", text_field(JobText::kStdOut, true)},
      {"stderr", text_field(JobText::kStdErr, true)},
      {"stdin", text_field(JobText::kStdIn, true)},
      {"workdir", set_work_dir},
  };
  return kFields;
}

/// The job as it will be has to pass what a submission passes, as far as it has changed.
Status check_edited(const JobEdit& edit) {
  // What runs has its resources: its spec is a record for people and for a later run.
  if (edit.spec == nullptr || !edit.job.is_pending()) return {};
  const JobSpec& spec = *edit.spec;
  const auto has_new = [&](JobText key) { return spec.get(key) != edit.job.spec->get(key); };
  // Only what the edit touches is checked again: a partition whose rules became stricter since must
  // not refuse a new comment.
  const bool has_new_place =
      edit.change.partitions.has_value() || has_new(JobText::kAccount) || has_new(JobText::kQos);
  const auto& partitions = edit.change.partitions ? *edit.change.partitions : edit.job.partitions;
  for (const PartitionIndex index : partitions) {
    const PartitionConfig& partition = edit.state.partition(index);
    if (has_new_place) TRY(admission::check_access(partition, spec, edit.identity));
    if (edit.change.partitions || edit.change.time_limit ||
        spec.request->min_nodes != edit.job.spec->request->min_nodes) {
      TRY(admission::check_limits(partition, spec, edit.state.settings()));
    }
    const ResourceRequest need = TRY(resource_need(spec, partition, edit.state.settings()));
    TRY(admission::check_request(edit.state, need));
    TRY(admission::check_memory(partition, need, edit.state.settings()));
  }
  return {};
}

/// When the job may start, with its dependencies and its begin as they are now. Unset until new
/// dependencies hold.
void derive_eligible_time(JobEdit& edit) {
  const JobSpec& spec = edit.spec != nullptr ? *edit.spec : *edit.job.spec;
  if (edit.change.dependencies) {
    // The dependency index decides about new terms after the event.
    const bool waits = !edit.change.dependencies->terms.empty();
    edit.change.eligible_time =
        waits ? TimePoint::unset() : admission::eligible_from(edit.state.time(), spec, nullptr);
  } else if (edit.has_new_begin && edit.job.eligible_time.is_set()) {
    edit.change.eligible_time =
        admission::eligible_from(edit.state.time(), spec, edit.job.dependencies.get());
  }
}

/// A job that has got other dependencies, or another name that singletons wait under, may not wait
/// for itself.
Status check_circle(const JobEdit& edit) {
  const DependencySet* dependencies =
      edit.change.dependencies ? &*edit.change.dependencies : edit.job.dependencies.get();
  if (edit.spec == nullptr || !edit.job.is_pending() || dependencies == nullptr) return {};
  if (!edit.change.dependencies && edit.spec->name() == edit.job.spec->name()) return {};
  if (!closes_a_circle(edit.state, edit.job, edit.split_index, *dependencies, *edit.spec))
    return {};
  return fail(ErrorCode::kInvalidArgument, "Job dependency problem",
              fmt::format("job {} would wait for itself", edit.change.job.value()));
}

/// "Comment+", as "Comment+=TEXT" names it, is "Comment" and its sign; without one 0.
std::pair<std::string_view, char> split_sign(std::string_view name) {
  const bool is_signed = name.size() > 1 && (name.back() == '+' || name.back() == '-');
  if (!is_signed) return {name, '\0'};
  return {name.substr(0, name.size() - 1), name.back()};
}

/// `job` is the record itself, or the array that the draft splits `id` off.
Refusal update_one_job(Draft& draft, JobId id, const Job& job, const PreparedUpdate& update,
                       const Identity& identity, NodeListMemo& node_lists) {
  JobEdit edit{draft, draft.state(), job,   identity,     update.past, node_lists,
               {},    nullptr,       false, std::nullopt, std::nullopt};
  edit.change.job = id;
  if (id != job.id) edit.split_index = draft.index_of(id);
  for (const auto& [name, value] : update.values) {
    const auto [key, sign] = split_sign(name);
    const auto field = std::ranges::find(job_fields(), lower(key), &JobField::name);
    if (!is_update_key(UpdateKind::kJob, key) || field == job_fields().end())
      return unsupported("job", name);
    // "+=" where the field can be appended to, "-=" nowhere.
    if (sign != 0 && (sign != '+' || field->append == nullptr))
      return invalid("Invalid job update", fmt::format("{} takes no {}=", key, sign));
    if (auto refused = (sign == 0 ? field->set : field->append)(edit, value)) return refused;
  }
  // Texts and numbers of the whole spec: one setter may have pushed another's beyond a bound.
  if (edit.spec != nullptr) {
    if (const Status sound = admission::check_texts(*edit.spec); !sound.has_value())
      return sound.error();
    if (const Status sound = admission::check_numbers(*edit.spec); !sound.has_value())
      return sound.error();
  }
  for (const auto& check : {check_edited, check_circle}) {
    if (const Status sound = check(edit); !sound.has_value()) return sound.error();
  }
  if (edit.array_throttle) {
    const Job& record = job.array != nullptr ? job : *draft.state().jobs().find(job.array_job);
    JobChanged change;
    change.job = record.id;
    change.array_throttle = edit.array_throttle;
    // A sweep over elements comes here once for each.
    const auto* last = draft.events.empty() ? nullptr : get_if<JobChanged>(&draft.events.back());
    const bool is_said =
        last != nullptr && last->job == record.id && last->array_throttle == change.array_throttle;
    if (record.array->remaining.throttle != *edit.array_throttle && !is_said)
      draft.add(std::move(change));
    if (update.values.size() == 1) return std::nullopt;  // of the element itself nothing changes
  }
  derive_eligible_time(edit);
  if (edit.spec != nullptr && job.is_pending()) {
    const auto& partitions = edit.change.partitions ? *edit.change.partitions : job.partitions;
    apply_memory_rules(*edit.spec, edit.state.partition(partitions.front()), edit.state.settings());
  }
  edit.change.spec = std::move(edit.spec);
  draft.add(std::move(edit.change));
  return std::nullopt;
}

// ---- nodes ----

/// What an operator orders: what begins, what ends, and whether he has to say why.
struct NodeOrder {
  std::string_view word;
  ConditionChange change;
  bool needs_reason = false;
};
/// An agent's own fault is gone when the agent says so, silence when it is heard or has begun anew.
constexpr ConditionChange kResume = {0, node_condition::kDownBySilence | node_condition::kOrders |
                                            node_condition::kInvalid | node_condition::kFuture};
constexpr std::array<NodeOrder, 6> kNodeOrders = {{
    {"down", {node_condition::kDownByOrder, 0}, true},
    {"drain", {node_condition::kDrainByOrder, 0}, true},
    {"fail", {node_condition::kFail, 0}, true},
    {"resume", kResume},
    {"idle", kResume},
    {"undrain", {0, node_condition::kDrainByOrder}},
}};

Refusal set_node_state(NodeChanged& change, const Node& node, const std::string& value) {
  // Three letters are enough, as for Slurm.
  const std::string word = lower(value);
  const auto order = std::ranges::find_if(kNodeOrders, [&](const NodeOrder& known) {
    return word.size() >= 3 && known.word.starts_with(word);
  });
  if (order == kNodeOrders.end())
    return invalid("Invalid node state specified",
                   fmt::format("'{}': use down, drain, fail, idle, resume or undrain", value));
  if (order->needs_reason && change.reason.value_or("").empty())
    return invalid("You must specify a reason when DOWNING or DRAINING a node. Request denied",
                   "add Reason=\"...\"");
  const bool is_resume = (order->change.clear & node_condition::kDownByOrder) != 0;
  // A node that left the configuration has no definition to run by.
  if (is_resume && is_unnamed(node))
    return Error{ErrorCode::kFailedPrecondition, "Invalid node state specified",
                 fmt::format("node {} is {}: name it there again and reconfigure", node.config.name,
                             standing_reason(node.status, node_condition::kDownByAbsence))};
  change.set_conditions = order->change.set;
  change.clear_conditions = order->change.clear;
  // An operator's own words stand; else the reason is what still stands against the node.
  if (change.reason) return std::nullopt;
  change.reason = reason_after(node.status, order->change);
  change.user = UserId();  // what is left to be said is not his word
  return std::nullopt;
}

Refusal update_one_node(Draft& draft, NodeIndex index, const UpdateObject& update,
                        const Identity& identity) {
  const Node& node = draft.state().nodes().at(index);
  NodeChanged change;
  change.node = index;
  change.user = identity.user;
  // The reason first, wherever it stands: State=down and drain ask for it.
  for (const auto& [name, value] : update.values) {
    if (!admission::is_one_line(value))
      return invalid(name + ": it has control characters", "give one line of text");
    if (const Status sound = admission::check_text(name, value); !sound.has_value())
      return sound.error();
    if (lower(name) == "reason") change.reason = value;
  }
  for (const auto& [name, value] : update.values) {
    const std::string key = lower(name);
    if (key == "reason") continue;
    if (!is_update_key(UpdateKind::kNode, name)) return unsupported("node", name);
    if (key == "state") {
      if (auto refused = set_node_state(change, node, value)) return refused;
    } else if (key == "weight") {
      const auto number = parse_whole32(value);
      if (!number) return invalid("Invalid weight", value);
      change.weight = *number;
    } else if (key == "availablefeatures" || key == "activefeatures" || key == "features") {
      change.features.emplace();
      for (const std::string_view feature : split(value, ','))
        change.features->emplace_back(feature);
    } else if (key == "comment") {
      change.comment = value;
    } else if (key == "extra") {
      change.extra = value;
    } else {
      return unsupported("node", name);
    }
  }
  draft.add(std::move(change));
  return std::nullopt;
}

Refusal update_node(Draft& draft, const UpdateObject& update, const Identity& identity) {
  if (!identity.is_operator) return not_allowed("only an operator may update nodes");
  auto names = expand_hostlist(update.name);
  if (!names.has_value()) return names.error();
  // All or none: a refusal of any name drops the draft.
  for (const std::string& name : names.value()) {
    const auto index = draft.state().nodes().find_by_name(name);
    if (!index)
      return invalid("Invalid node name specified", fmt::format("there is no node {}", name));
    if (auto refused = update_one_node(draft, *index, update, identity)) return refused;
  }
  return std::nullopt;
}

// ---- partitions ----

Refusal set_partition_value(PartitionConfig& partition, const std::string& name,
                            const std::string& value) {
  const std::string key = lower(name);
  const std::string lower_value = lower(value);
  if (!is_update_key(UpdateKind::kPartition, name)) return unsupported("partition", name);
  if (key == "state") {
    for (const PartitionState state : {PartitionState::kUp, PartitionState::kDown,
                                       PartitionState::kDrain, PartitionState::kInactive}) {
      if (lower(partition_state_name(state)) == lower_value) {
        partition.state = state;
        return std::nullopt;
      }
    }
    return invalid("Invalid partition state",
                   fmt::format("'{}': use UP, DOWN, DRAIN or INACTIVE", value));
  }
  if (key == "maxtime" || key == "defaulttime") {
    auto limit = parse_time_limit(value);
    if (!limit.has_value()) return limit.error();
    (key == "maxtime" ? partition.max_time : partition.default_time) = limit.value();
    return std::nullopt;
  }
  if (key == "maxnodes" || key == "minnodes") {
    const bool is_unlimited = lower_value == "unlimited" || lower_value == "infinite";
    const auto number = is_unlimited ? std::optional<std::uint32_t>(0) : parse_whole32(value);
    const bool is_none = key == "maxnodes" && !is_unlimited && number == 0U;  // 0 is no limit here
    if (!number || is_none) return invalid("Invalid number", fmt::format("{}={}", name, value));
    (key == "maxnodes" ? partition.max_nodes : partition.min_nodes) = *number;
    return std::nullopt;
  }
  if (key == "prioritytier" || key == "priorityjobfactor") {
    const auto number = parse_whole32(value, 65533);  // as in the configuration
    if (!number) return invalid("Invalid number", fmt::format("{}={}", name, value));
    (key == "prioritytier" ? partition.priority_tier : partition.priority_job_factor) = *number;
    return std::nullopt;
  }
  if (key == "hidden" || key == "rootonly" || key == "default") {
    if (lower_value != "yes" && lower_value != "no")
      return invalid("Invalid value", fmt::format("{}={}: use YES or NO", name, value));
    auto& field = key == "hidden"     ? partition.is_hidden
                  : key == "rootonly" ? partition.is_root_only
                                      : partition.is_default;
    field = lower_value == "yes";
    return std::nullopt;
  }
  return unsupported("partition", name);
}

/// There is one default partition.
void unset_other_defaults(Draft& draft, PartitionIndex chosen) {
  const auto& partitions = draft.state().partitions();
  for (std::uint32_t i = 0; i < partitions.size(); ++i) {
    if (PartitionIndex(i) == chosen || !partitions[i].is_default) continue;
    // Two defaults would make a submission without -p ambiguous.
    PartitionChanged change{PartitionIndex(i), partitions[i]};
    change.config.is_default = false;
    draft.add(std::move(change));
  }
}

Refusal update_partition(Draft& draft, const UpdateObject& update, const Identity& identity) {
  if (!identity.is_operator) return not_allowed("only an operator may update partitions");
  const auto index = draft.state().find_partition(update.name);
  if (!index)
    return invalid("Invalid partition name specified",
                   fmt::format("there is no partition {}", update.name));
  PartitionChanged change{*index, draft.state().partition(*index)};
  for (const auto& [name, value] : update.values) {
    if (auto refused = set_partition_value(change.config, name, value)) return refused;
  }
  if (change.config.is_default) unset_other_defaults(draft, *index);
  draft.add(std::move(change));
  return std::nullopt;
}

}  // namespace

std::optional<JobSelector> parse_update_selector(std::string_view text) {
  const auto underscore = text.find('_');
  const auto number = parse_whole(text.substr(0, underscore));
  if (!number || *number == 0 || *number > UINT32_MAX) return std::nullopt;
  JobSelector selector;
  selector.job = JobId(static_cast<std::uint32_t>(*number));
  if (underscore == std::string_view::npos) return selector;
  std::string_view indices = text.substr(underscore + 1);
  if (indices.size() > 1 && indices.front() == '[' && indices.back() == ']')
    indices = indices.substr(1, indices.size() - 2);
  // Slurm's largest MaxArraySize is 4000001.
  const auto parsed = parse_array(indices, 4'000'001);
  if (!parsed.has_value()) return std::nullopt;
  selector.is_element = true;
  selector.indices = parsed.value().indices;
  return selector;
}

Verdict update_one(Draft& draft, JobId id, const Job& job, const PreparedUpdate& update,
                   const Identity& identity, const UpdateSweep& sweep) {
  if (!access::may_control(job, identity))
    return Verdict{true, not_allowed("only its owner or an operator may update the job")};
  if (!job.is_over())
    return Verdict{true, update_one_job(draft, id, job, update, identity, sweep.node_lists)};
  // Among several jobs one that is over is passed over; alone its client is told.
  if (!sweep.is_alone) return Verdict{false, {}};
  return Verdict{
      true, Error{ErrorCode::kFailedPrecondition, "Job/step already completing or completed", ""}};
}

namespace {

Reply update_jobs(Draft& draft, const PreparedUpdate& request, const Identity& identity) {
  std::vector<SignalOrder> none;
  Sweep sweep(request, identity, draft.state());
  sweep.step(draft, Sweep::kAll, none);
  return std::move(sweep.reply());
}

}  // namespace

Reply update(Draft& draft, const PreparedUpdate& request, const Identity& identity) {
  Reply reply;
  switch (request.kind) {
    case UpdateKind::kJob: return update_jobs(draft, request, identity);
    case UpdateKind::kNode: reply.error = update_node(draft, request, identity); break;
    case UpdateKind::kPartition: reply.error = update_partition(draft, request, identity); break;
    case UpdateKind::kStep:
      reply.error = invalid("Unsupported", "steps cannot be updated; update the job's TimeLimit");
      break;
  }
  return reply;
}

}  // namespace muster::requests
