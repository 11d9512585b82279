// Checkpoints of an experiment or a trial, sorted and paged. All are measured before they are
// sorted, since a metric may be what they are sorted by.

#include "api/determined/checkpoint_list.h"

#include <algorithm>

#include "api/determined/names.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"

namespace muster::api {
namespace {

using One = CheckpointDetails;

/// Better ones first where the direction is left open.
bool is_descending(Direction direction, const std::vector<One>& all, const std::string& metric) {
  if (direction != Direction::kUnspecified) return direction == Direction::kDescending;
  // Without orderBy the searcher's own metric says which direction is better.
  return !all.empty() && all.front().spec->metric == metric && !all.front().spec->smaller_is_better;
}

Status sort(std::vector<One>& all, const HttpRequest& request) {
  constexpr std::string_view kBySearcher = "SORT_BY_SEARCHER_METRIC";
  std::string metric(request.parameter("sortByMetric"));
  if (!metric.empty() && request.has("sortByAttr"))
    return fail(wrong("sortByAttr, sortByMetric: give one of them"));
  // The searcher's name, so that both ways of asking go one way.
  if (request.parameter("sortByAttr") == kBySearcher && !all.empty())
    metric = all.front().spec->metric;
  if (!metric.empty()) {
    const Direction direction = TRY(direction_of(request));
    const auto key =
        number_key<One>("", [&metric](const One& one) { return validation_metric(one, metric); });
    sort_by(all, key, is_descending(direction, all, metric));
    return {};
  }
  return sort_list<One>(
      request, all,
      {sort_key<One>("SORT_BY_UUID", [](const One& one) { return one.checkpoint.uuid; }),
       sort_key<One>("SORT_BY_TRIAL_ID", [](const One& one) { return one.checkpoint.trial; }),
       sort_key<One>("SORT_BY_BATCH_NUMBER",
                     [](const One& one) { return one.checkpoint.steps_completed; }),
       sort_key<One>("SORT_BY_END_TIME", [](const One& one) { return one.checkpoint.report_time; }),
       sort_key<One>("SORT_BY_STATE", [](const One& one) { return one.checkpoint.state; }),
       number_key<One>(kBySearcher, searcher_metric)},
      "sortByAttr");
}

}  // namespace

std::vector<std::string> checkpoint_list_parameters() {
  return list_parameters({"sortByAttr", "sortByMetric", "orderBy", "states"});
}

kj::Promise<HttpReply> checkpoint_list(ApiPort& port, std::shared_ptr<const HttpRequest> request,
                                       std::vector<CheckpointDetails> all) {
  const auto states = checkpoint_states_parameter(*request);
  if (!states.has_value()) return error_reply(states.error());
  std::erase_if(all, [&](const One& one) {
    return !states->empty() &&
           std::ranges::find(*states, state_name(one.checkpoint.state)) == states->end();
  });
  const Caller& caller = request->caller;
  return measured(port, caller, std::move(all))
      .then([&port, request](Result<std::vector<One>> full) -> HttpReply {
        if (!full.has_value()) return error_reply(full.error());
        if (const Status sorted = sort(*full, *request); !sorted.has_value())
          return error_reply(sorted.error());
        return list_reply(*request, "checkpoints", *full,
                          [&port](const One& one) { return checkpoint_json(port, one); });
      });
}

}  // namespace muster::api
