// Custom search: what happens is put before the client, and its operations are taken. Source:
// Determined up to 0.37.
// Events stay until they are answered: a client that loses its answer asks again and sees the same
// ones. What it has seen already is known by how many inputs the search has had.
#include "search/custom_search.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "api/determined/names.h"
#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "platform/search/search_role.h"
#include "state/views.h"

namespace muster::api {
namespace {

/// How long a client waits for an event before it is told that there is none.
constexpr Duration kTimeout = Duration::seconds(60);
constexpr kj::Duration kLook = 250 * kj::MILLISECONDS;

/// A custom search as its client sees it.
struct SearchSeen {
  std::uint64_t inputs = 0;  ///< that it has had; the rest hangs upon them alone
  std::vector<search::CustomEvent> events;
  std::optional<std::string> final_state;
  std::uint64_t last_event = 0;
};

Result<const Experiment*> find_custom(const ClusterState& state, ExperimentId id) {
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()), "");
  if (!experiment->spec->imported_from.empty()) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("experiment {} ended in another cluster", id.value()),
                "its search has no events here");
  }
  if (experiment->spec->searcher == "custom") return experiment;
  return fail(ErrorCode::kFailedPrecondition,
              fmt::format("experiment {} decides by {}", id.value(), experiment->spec->searcher),
              "only a custom search has events: searcher: {name: custom, ...}");
}

const search::CustomMethod& method_of(const search::Searcher& searcher) {
  return dynamic_cast<const search::CustomMethod&>(searcher.method());
}

std::uint64_t inputs_of(const Experiment& experiment) {
  // What the search has taken in, both what is covered by its saved state and what came since.
  return experiment.covered + experiment.inputs.size();
}

/// What a client that has seen `known` inputs is to be told; nothing new: no events.
Result<SearchSeen> see(const ClusterState& state, ExperimentId id,
                       std::optional<std::uint64_t> known) {
  const Experiment& experiment = *TRY(find_custom(state, id));
  SearchSeen seen;
  seen.inputs = inputs_of(experiment);
  // The end is told even when nothing else is new.
  if (is_final(experiment.state))
    seen.final_state = state_name(view_of(experiment, state, QueryDetail::kBrief));
  // The search is only built where something is new: it is read from bytes and replayed.
  if (known == seen.inputs && !seen.final_state) return seen;
  const search::Searcher searcher = TRY(searcher_now(experiment));
  seen.last_event = method_of(searcher).last_event();
  // What stops hears of nothing any more: its client is told of the end.
  if (is_searching(experiment.state) && method_of(searcher).is_open())
    seen.events = method_of(searcher).events();
  return seen;
}

std::string exit_name(TrialExit exit) {
  switch (exit) {
    case TrialExit::kInvalidHparams: return "EXITED_REASON_INVALID_HP";
    case TrialExit::kCanceled: return "EXITED_REASON_USER_REQUESTED_STOP";
    default: return "EXITED_REASON_UNSPECIFIED";
  }
}

Json event_json(const search::CustomEvent& event) {
  Json json = Json::Object{{"id", static_cast<std::int64_t>(event.id)}};
  switch (event.kind) {
    case search::CustomEventKind::kInitialOperations:
      json.member("initialOperations") = Json::Object{{"placeholder", 0}};
      break;
    case search::CustomEventKind::kTrialCreated:
      json.member("trialCreated") = Json::Object{{"requestId", event.request}};
      break;
    case search::CustomEventKind::kTrialClosed:
      json.member("trialClosed") = Json::Object{{"requestId", event.request}};
      break;
    case search::CustomEventKind::kTrialExitedEarly:
      json.member("trialExitedEarly") =
          Json::Object{{"requestId", event.request}, {"exitedReason", exit_name(event.exit)}};
      break;
    case search::CustomEventKind::kValidationCompleted:
      json.member("validationCompleted") =
          Json::Object{{"requestId", event.request},
                       {"metric", event.metric},
                       // 64 bits as text.
                       {"validateAfterLength", wide(event.length)}};
      break;
  }
  return json;
}

HttpReply events_reply(const SearchSeen& seen) {
  Json::Array events;
  for (const search::CustomEvent& event : seen.events) events.push_back(event_json(event));
  if (seen.final_state) {
    events.push_back(
        // An event more than the search has had, so that a client takes it as new.
        Json::Object{{"id", static_cast<std::int64_t>(seen.last_event + 1)},
                     {"experimentInactive", Json::Object{{"experimentState", *seen.final_state}}}});
  }
  return json_reply(Json::Object{{"searcherEvents", std::move(events)}});
}

/// Looks until there is something to send, or until the timeout.
kj::Promise<HttpReply> wait_events(ApiPort& port, Caller caller, ExperimentId id, TimePoint until,
                                   std::optional<std::uint64_t> known) {
  return look<SearchSeen>(port, caller,
                          [id, known](const ClusterState& state) { return see(state, id, known); })
      .then([&port, caller, id, until](Result<SearchSeen> seen) -> kj::Promise<HttpReply> {
        if (!seen.has_value()) return error_reply(seen.error());
        // Once events are there they are sent at once.
        if (!seen->events.empty() || seen->final_state || port.now() >= until)
          return events_reply(*seen);
        return port.timer().afterDelay(kLook).then(
            [&port, caller, id, until, known = seen->inputs] {
              return wait_events(port, caller, id, until, known);
            });
      });
}

kj::Promise<HttpReply> list_events(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "an experiment");
  if (!id.has_value()) return error_reply(id.error());
  // Nullopt: the first look sends whatever waits.
  return wait_events(port, request.caller, ExperimentId(*id), port.now() + kTimeout, std::nullopt);
}

// ---- operations ----

Result<SearchOperation> create_of(const Json& json) {
  SearchOperation operation;
  operation.verb = SearchVerb::kCreate;
  operation.request = text_field(json, "requestId").value_or("");
  operation.hparams = text_field(json, "hyperparams").value_or("");
  // Text and not an object, as Determined's operations have it.
  if (operation.hparams.empty())
    return fail(wrong("createTrial.hyperparams is missing: a JSON object, as text"));
  operation.source = text_field(json, "checkpointUuid").value_or("");
  return operation;
}

Result<SearchOperation> validate_of(const Json& json) {
  const Json* validate = field(json, "validateAfter");
  if (validate == nullptr) return fail(wrong("trialOperation.validateAfter is missing"));
  const auto length = whole_field(*validate, "length");
  if (!length || *length < 1)
    return fail(
        wrong("validateAfter.length: give the units of training since the trial's beginning, at "
              "least 1"));
  SearchOperation operation;
  operation.verb = SearchVerb::kValidateAfter;
  operation.request = text_field(*validate, "requestId").value_or("");
  operation.length = static_cast<std::uint64_t>(*length);
  return operation;
}

Result<SearchOperation> operation_of(const Json& json) {
  SearchOperation operation;
  if (const Json* create = field(json, "createTrial")) return create_of(*create);
  if (const Json* trial = field(json, "trialOperation")) return validate_of(*trial);
  if (const Json* close = field(json, "closeTrial")) {
    operation.verb = SearchVerb::kClose;
    operation.request = text_field(*close, "requestId").value_or("");
    return operation;
  }
  if (const Json* end = field(json, "shutDown")) {
    TRY(check_flags(*end, {"cancel", "failure"}));
    operation.verb = SearchVerb::kShutDown;
    // Both flags may be set: a failure says more than a cancel.
    if (bool_field(*end, "cancel").value_or(false)) operation.outcome = SearchOutcome::kCanceled;
    if (bool_field(*end, "failure").value_or(false)) operation.outcome = SearchOutcome::kFailed;
    return operation;
  }
  if (const Json* progress = field(json, "setSearcherProgress")) {
    const Json* value = field(*progress, "progress");
    if (value == nullptr || !value->number())
      return fail(wrong("setSearcherProgress.progress: a number from 0 to 1 is missing"));
    operation.verb = SearchVerb::kSetProgress;
    operation.progress = *value->number();
    return operation;
  }
  return fail(
      wrong("an operation is one of createTrial, trialOperation, closeTrial, shutDown, "
            "setSearcherProgress"));
}

Result<OperationsInput> input_of(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  const Json* trigger = field(body, "triggeredByEvent");
  const auto id = trigger == nullptr ? std::nullopt : whole_field(*trigger, "id");
  if (!id || *id < 1)
    return fail(wrong("triggeredByEvent.id is missing: the event that the operations answer"));
  OperationsInput input;
  input.trigger = static_cast<std::uint64_t>(*id);
  const Json* operations = field(body, "searcherOperations");
  // An answer without operations is one: the event is done with.
  if (operations == nullptr) return input;
  if (operations->array() == nullptr) return fail(wrong("searcherOperations: a list is expected"));
  for (const Json& one : *operations->array()) input.operations.push_back(TRY(operation_of(one)));
  return input;
}

kj::Promise<HttpReply> accept_operations(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "an experiment");
  if (!id.has_value()) return error_reply(id.error());
  // Checked on the replica first, so that a client learns which operation is wrong; the core
  // decides.
  auto input = input_of(request);
  if (!input.has_value()) return error_reply(input.error());
  auto operate =
      std::make_shared<OperateSearch>(OperateSearch{ExperimentId(*id), std::move(input).value()});
  using Checked = bool;
  return look<Checked>(port, request.caller,
                       [operate](const ClusterState& state) -> Result<Checked> {
                         const Experiment& experiment =
                             *TRY(find_custom(state, operate->experiment));
                         if (!is_searching(experiment.state) || experiment.outcome)
                           return true;  // the next event says so
                         const search::Searcher searcher = TRY(searcher_now(experiment));
                         TRY(method_of(searcher).check(operate->input));
                         return true;
                       })
      .then([&port, caller = request.caller,
             operate](Result<Checked> checked) -> kj::Promise<HttpReply> {
        if (!checked.has_value()) return error_reply(checked.error());
        return submit_one(port, caller, std::move(*operate));
      });
}

}  // namespace

void add_custom_search_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/experiments/{experiment}/searcher_events",
             "Wait for events of a custom search", list_events);
  router.add(Method::kPost, "/api/v1/experiments/{experiment}/searcher_operations",
             "What a custom search is to do upon an event", accept_operations);
}

}  // namespace muster::api
