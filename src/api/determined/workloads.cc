// What a trial trained, validated and saved, in order. A trial may have millions of reports: they
// are read twice, piece by piece, to count them and then to show those that are asked for; memory
// holds no more than what is shown and a piece.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "access/experiment_access.h"
#include "api/determined/checkpoint_json.h"
#include "api/determined/names.h"
#include "api/determined/trial_json.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"

namespace muster::api {
namespace {

/// More are shown on further pages: `pagination` says how many there are.
constexpr std::size_t kShownMax = 20'000;
constexpr std::size_t kReportsPerRead = 500;

Json checkpoint_workload(const Checkpoint& checkpoint) {
  return Json::Object{{"checkpoint", Json::Object{{"uuid", checkpoint.uuid},
                                                  {"endTime", time_json(checkpoint.report_time)},
                                                  {"state", state_name(checkpoint.state)},
                                                  {"resources", resources_json(checkpoint)},
                                                  {"totalBatches", checkpoint.steps_completed},
                                                  {"metadata", metadata_json(checkpoint)}}}};
}

/// Which kinds are asked for.
struct WorkloadFilter {
  bool has_training = true;
  bool has_validation = true;
  bool has_checkpoints = true;
  bool has_batches = false;
  bool is_removing_deleted = false;
  bool is_descending = false;
};

Result<WorkloadFilter> filter_of(const HttpRequest& request) {
  enum { kCheckpoint, kValidation, kEither };
  enum { kTraining, kValidated };
  WorkloadFilter filter;
  const auto wanted = TRY(word_parameter(request, "filter",
                                         {"FILTER_OPTION_CHECKPOINT", "FILTER_OPTION_VALIDATION",
                                          "FILTER_OPTION_CHECKPOINT_OR_VALIDATION"}));
  auto type = TRY(
      word_parameter(request, "metricType", {"METRIC_TYPE_TRAINING", "METRIC_TYPE_VALIDATION"}));
  if (const auto group = TRY(word_parameter(request, "group", {"training", "validation"})))
    type = group;
  TRY(word_parameter(request, "sortKey", {"batches"}));
  if (wanted == kValidation || type == kValidated)
    filter.has_training = filter.has_checkpoints = false;
  if (type == kTraining) filter.has_validation = filter.has_checkpoints = false;
  if (wanted == kCheckpoint) filter.has_training = filter.has_validation = false;
  if (wanted == kEither) filter.has_training = false;
  filter.has_batches = TRY(flag_parameter(request, "includeBatchMetrics")).value_or(false);
  filter.is_removing_deleted =
      TRY(flag_parameter(request, "removeDeletedCheckpoints")).value_or(false);
  filter.is_descending = TRY(direction_of(request)) == Direction::kDescending;
  return filter;
}

/// The reports of one group, in order.
class ReportSource {
 public:
  ReportSource(TrialId trial, std::string group) : trial_(trial), group_(std::move(group)) {}

  /// Reads on where everything read was taken. Requires: is_empty_handed().
  MetricQuestion question() const {
    return ReportsQuestion{{trial_, group_}, page_.next, kReportsPerRead};
  }
  void add(ReportPage page) {
    page_ = std::move(page);
    at_ = 0;
    is_done_ = !page_.next;
  }
  const StoredReport* front() const {
    return at_ < page_.reports.size() ? &page_.reports[at_] : nullptr;
  }
  void pop() { ++at_; }
  /// Nothing is at hand, and there may be more.
  bool is_empty_handed() const { return front() == nullptr && !is_done_; }

 private:
  TrialId trial_;
  std::string group_;
  ReportPage page_;
  std::size_t at_ = 0;
  bool is_done_ = false;
};

/// One way through everything in the order of steps; of equal ones training, validation,
/// checkpoint.
class Walk {
 public:
  Walk(TrialId trial, const WorkloadFilter& filter, const std::vector<CheckpointRef>& checkpoints)
      : has_batches_(filter.has_batches) {
    if (filter.has_training) sources_.emplace_back(trial, "training");
    if (filter.has_validation) sources_.emplace_back(trial, "validation");
    for (const CheckpointRef& checkpoint : checkpoints) {
      const bool is_gone =
          filter.is_removing_deleted && checkpoint->state == CheckpointState::kDeleted;
      if (filter.has_checkpoints && !is_gone) checkpoints_.push_back(checkpoint);
    }
    std::ranges::stable_sort(checkpoints_, {}, &Checkpoint::steps_completed);
  }

  /// What it needs to go on; empty: nothing.
  std::vector<MetricQuestion> questions() const {
    std::vector<MetricQuestion> all;
    for (const ReportSource& source : sources_) {
      if (source.is_empty_handed()) all.push_back(source.question());
    }
    return all;
  }
  /// Requires: the answers are those to questions().
  void add(MetricAnswers& answers) {
    for (ReportSource& source : sources_) {
      if (source.is_empty_handed()) source.add(answers.next<ReportsQuestion>());
    }
  }
  /// Goes on as far as what was read takes it; those with a number in [begin, end) are shown. True:
  /// it has come to the end.
  bool go_on(std::size_t begin, std::size_t end) {
    while (std::ranges::none_of(sources_, &ReportSource::is_empty_handed)) {
      // Stops before it would need what is not read yet.
      if (!step(begin, end)) return true;
    }
    return false;
  }
  std::size_t count() const { return count_; }
  std::vector<Json> extract_shown() { return std::move(shown_); }

 private:
  /// False: there is nothing more.
  bool step(std::size_t begin, std::size_t end) {
    ReportSource* first = nullptr;
    for (ReportSource& source : sources_) {
      if (source.front() != nullptr && (first == nullptr || steps_of(source) < steps_of(*first)))
        first = &source;
    }
    const bool has_checkpoint = next_checkpoint_ < checkpoints_.size();
    const bool is_checkpoint =
        has_checkpoint &&
        (first == nullptr || steps_of(*checkpoints_[next_checkpoint_]) < steps_of(*first));
    if (first == nullptr && !has_checkpoint) return false;
    // Also what is not shown is counted: the first pass does nothing else.
    const bool is_shown = count_ >= begin && count_ < end;
    if (is_checkpoint) {
      if (is_shown) shown_.push_back(checkpoint_workload(*checkpoints_[next_checkpoint_]));
      ++next_checkpoint_;
    } else {
      if (is_shown) shown_.push_back(workload_json(*first->front(), has_batches_));
      first->pop();
    }
    ++count_;
    return true;
  }
  static std::int64_t steps_of(const ReportSource& source) {
    return source.front()->report.steps_completed;
  }
  static std::int64_t steps_of(const Checkpoint& checkpoint) {
    return static_cast<std::int64_t>(checkpoint.steps_completed);
  }

  std::vector<ReportSource> sources_;
  std::vector<CheckpointRef> checkpoints_;
  std::size_t next_checkpoint_ = 0;
  std::size_t count_ = 0;
  bool has_batches_;
  std::vector<Json> shown_;
};
using WalkRef = std::shared_ptr<Walk>;

/// To its end, a piece of each group at a time, between which others have their turn.
kj::Promise<Status> walk(ApiPort& port, WalkRef walk_on, std::size_t begin, std::size_t end) {
  if (walk_on->go_on(begin, end)) return Status();
  return port.measure(walk_on->questions())
      .then([&port, walk_on, begin, end](Result<MetricAnswers> answers) -> kj::Promise<Status> {
        if (!answers.has_value()) return Status(fail(answers.error()));
        walk_on->add(*answers);
        return walk(port, walk_on, begin, end);
      });
}

/// Where the shown ones stand in the list, and which of the walk those are.
struct Range {
  PageWindow window;
  std::size_t begin = 0;
  std::size_t end = 0;
};
Result<Range> range_of(const HttpRequest& request, std::size_t total, bool is_descending) {
  Range range;
  range.window = TRY(window_of(request, total));
  range.window.end = std::min(range.window.end, range.window.begin + kShownMax);
  range.begin = is_descending ? total - range.window.end : range.window.begin;
  range.end = is_descending ? total - range.window.begin : range.window.end;
  return range;
}

kj::Promise<HttpReply> show(ApiPort& port, std::shared_ptr<const HttpRequest> request,
                            TrialId trial, WorkloadFilter filter,
                            std::vector<CheckpointRef> checkpoints) {
  // The first walk counts: a page can only be placed once the total is known.
  auto counting = std::make_shared<Walk>(trial, filter, checkpoints);
  return walk(port, counting, 0, 0)
      .then([&port, request, trial, filter, checkpoints,
             counting](Status counted) -> kj::Promise<HttpReply> {
        if (!counted.has_value()) return error_reply(counted.error());
        const auto range = range_of(*request, counting->count(), filter.is_descending);
        if (!range.has_value()) return error_reply(range.error());
        // A second walk: of the first nothing was kept.
        auto showing = std::make_shared<Walk>(trial, filter, checkpoints);
        return walk(port, showing, range->begin, range->end)
            .then([range = *range, filter, showing](Status shown) -> HttpReply {
              if (!shown.has_value()) return error_reply(shown.error());
              std::vector<Json> all = showing->extract_shown();
              if (filter.is_descending) std::ranges::reverse(all);
              return json_reply(Json::Object{{"workloads", Json::Array(std::move(all))},
                                             {"pagination", pagination_of(range.window)}});
            });
      });
}

kj::Promise<HttpReply> workloads(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a trial");
  if (!id.has_value()) return error_reply(id.error());
  const auto filter = filter_of(request);
  if (!filter.has_value()) return error_reply(filter.error());
  const TrialId trial(*id);
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  using Checkpoints = std::vector<CheckpointRef>;
  return look<Checkpoints>(
             port, shared->caller,
             [trial, identity = shared->caller.identity](
                 const ClusterState& state) -> Result<Checkpoints> {
               const Trial* found = state.experiments().find(trial);
               if (found == nullptr)
                 return fail(ErrorCode::kNotFound,
                             fmt::format("there is no trial {}", trial.value()), "");
               Checkpoints all = state.checkpoints().of(trial);
               if (access::readers_of(state, *state.experiments().find(found->experiment))
                       .has(identity))
                 return all;
               // Without names of files for who may not read the experiment.
               for (CheckpointRef& one : all) {
                 auto shown = std::make_shared<Checkpoint>(*one);
                 shown->resources = "{}";
                 one = std::move(shown);
               }
               return all;
             })
      .then([&port, shared, trial,
             filter = *filter](Result<Checkpoints> checkpoints) -> kj::Promise<HttpReply> {
        if (!checkpoints.has_value()) return error_reply(checkpoints.error());
        return show(port, shared, trial, filter, std::move(checkpoints).value());
      });
}

}  // namespace

void add_workload_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/trials/{trial}/workloads",
             "What a trial trained, validated and saved", workloads,
             list_parameters({"filter", "metricType", "group", "sortKey", "orderBy",
                              "includeBatchMetrics", "removeDeletedCheckpoints"}));
}

}  // namespace muster::api
