// Checkpoints: reported by runs, looked at, deleted.
// A report comes from a run and is checked by its token: what it says of files is believed, and
// which checkpoints are kept is decided by the core's rules.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/determined/checkpoint_json.h"
#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/web_time.h"

namespace muster::api {
namespace {

// 8-4-4-4-12 hexadecimal digits with hyphens.
constexpr std::size_t kUuid = 36;

std::optional<CheckpointState> state_of(std::string_view name) {
  if (name == "STATE_ACTIVE") return CheckpointState::kActive;
  if (name == "STATE_COMPLETED") return CheckpointState::kCompleted;
  if (name == "STATE_ERROR") return CheckpointState::kError;
  if (name == "STATE_DELETED") return CheckpointState::kDeleted;
  return std::nullopt;
}

/// Sizes as numbers, and their sum.
Result<std::pair<std::string, std::uint64_t>> sizes_of(const Json* resources) {
  Json::Object sizes;
  std::uint64_t total = 0;
  if (resources != nullptr && resources->object() == nullptr)
    return fail(wrong("resources is not an object"));
  if (resources != nullptr) {
    for (const Json::Member& member : *resources->object()) {
      const auto size = whole_of(member.value);
      // Sizes come as numbers or as text, as protobuf's JSON writes them.
      if (!size || *size < 0)
        return fail(wrong(fmt::format("resources: {} has no size", member.name)));
      sizes.push_back({member.name, *size});
      // A size that is no number would make the sum of all of them wrong.
      total += static_cast<std::uint64_t>(*size);
    }
  }
  return std::pair(json_text(Json(std::move(sizes))), total);
}

Result<Checkpoint> checkpoint_of(const HttpRequest& request, TimePoint now) {
  const Json body = TRY(body_of(request));
  Checkpoint checkpoint;
  checkpoint.uuid = text_field(body, "uuid").value_or("");
  if (checkpoint.uuid.size() != kUuid)
    return fail(wrong(fmt::format("uuid: '{}' is no uuid", checkpoint.uuid)));
  const std::string name = text_field(body, "allocationId").value_or("");
  const auto run = parse_task_name(name.empty() ? text_field(body, "taskId").value_or("") : name);
  if (!run || run->run == 0)
    return fail(wrong(fmt::format("allocationId: '{}' is no allocation of a trial", name)));
  // A run reports its own checkpoints.
  TRY(may_speak(request.caller, run->trial));
  checkpoint.trial = run->trial;
  checkpoint.run = run->run;
  const std::string state = text_field(body, "state").value_or("STATE_COMPLETED");
  const auto known = state_of(state);
  if (!known) return fail(wrong(fmt::format("state: '{}' is not known", state)));
  checkpoint.state = *known;
  const Json* metadata = field(body, "metadata");
  if (metadata != nullptr && metadata->object() == nullptr)
    return fail(wrong("metadata is not an object"));
  checkpoint.metadata = metadata == nullptr ? "{}" : json_text(*metadata);
  // Protobuf's names in camelCase, though metadata is the user's own.
  const auto steps = metadata == nullptr ? std::nullopt : whole_field(*metadata, "stepsCompleted");
  // Of one that is still being written it need not be known.
  if (!steps && checkpoint.state != CheckpointState::kActive)
    return fail(wrong("metadata.steps_completed is missing: how far the trial had trained"));
  checkpoint.steps_completed =
      static_cast<std::uint64_t>(std::max<std::int64_t>(steps.value_or(0), 0));
  const auto time = text_field(body, "reportTime");
  checkpoint.report_time = time ? TRY(parse_web_time(*time)) : now;
  std::tie(checkpoint.resources, checkpoint.size) = TRY(sizes_of(field(body, "resources")));
  return checkpoint;
}

kj::Promise<HttpReply> store(ApiPort& port, const Caller& caller,
                             std::vector<RecordCheckpoint> notes) {
  std::vector<Request> requests;
  for (RecordCheckpoint& note : notes) requests.emplace_back(std::move(note));
  return submit_each(port, caller, std::move(requests)).then([](const Refusals& each) {
    for (const std::optional<Error>& error : each) {
      if (error) return error_reply(*error);
    }
    return empty_reply();
  });
}

kj::Promise<HttpReply> report(ApiPort& port, HttpRequest request) {
  const auto checkpoint = checkpoint_of(request, port.now());
  if (!checkpoint.has_value()) return error_reply(checkpoint.error());
  // false: a new record, rather than a change of a known one.
  return store(port, request.caller, {{*checkpoint, false}});
}

kj::Promise<HttpReply> show(ApiPort& port, HttpRequest request) {
  using All = std::vector<CheckpointDetails>;
  return look<All>(port, request.caller,
                   [uuid = request.arguments[0]](const ClusterState& state) -> Result<All> {
                     All all;
                     // A list of one: it is measured as lists are.
                     all.push_back(TRY(details_of(state, uuid)));
                     return all;
                   })
      .then([&port, caller = request.caller](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return measured(port, caller, std::move(all).value()).then([&port](Result<All> full) {
          return full.has_value() ? json_reply(Json::Object{
                                        {"checkpoint", checkpoint_json(port, full->front())}})
                                  : error_reply(full.error());
        });
      });
}

/// Changes known checkpoints, each as `change` says; none where one is not there, or not the
/// caller's to speak for.
kj::Promise<HttpReply> change_many(ApiPort& port, const Caller& caller,
                                   std::vector<std::string> uuids,
                                   std::function<Status(Checkpoint&)> change) {
  using All = std::vector<RecordCheckpoint>;
  return look<All>(port, caller,
                   [caller, uuids = std::move(uuids),
                    change = std::move(change)](const ClusterState& state) -> Result<All> {
                     All all;
                     for (const std::string& uuid : uuids) {
                       const CheckpointRef known = state.checkpoints().find(uuid);
                       if (known == nullptr)
                         return fail(ErrorCode::kNotFound,
                                     fmt::format("there is no checkpoint {}", uuid), "");
                       // A task's token reaches its own trial's checkpoints alone.
                       if (caller.claims.scope == TokenScope::kTask &&
                           caller.claims.trial != known->trial) {
                         return fail(ErrorCode::kPermissionDenied,
                                     fmt::format("checkpoint {} is another trial's", uuid), "");
                       }
                       Checkpoint changed = *known;
                       TRY(change(changed));
                       all.push_back({std::move(changed), true});
                     }
                     return all;
                   })
      .then([&port, caller](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return store(port, caller, std::move(all).value());
      });
}

/// What is left of checkpoints after files of them were deleted.
kj::Promise<HttpReply> patch(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const Json* list = field(*body, "checkpoints");
  if (list == nullptr || list->array() == nullptr)
    return error_reply(wrong("checkpoints: a list is missing"));
  if (const Status size = check_list_size(list->array()->size(), "checkpoints"); !size.has_value())
    return error_reply(size.error());
  std::vector<std::string> uuids;
  std::map<std::string, std::pair<std::string, std::uint64_t>> left;  // files of each, by its uuid
  for (const Json& item : *list->array()) {
    const std::string uuid = text_field(item, "uuid").value_or("");
    const Json* resources = field(item, "resources");
    // An entry without resources says nothing of its files.
    if (resources == nullptr) continue;
    auto sizes = sizes_of(field(*resources, "resources"));
    if (!sizes.has_value()) return error_reply(sizes.error());
    uuids.push_back(uuid);
    left.emplace(uuid, std::move(*sizes));
  }
  return change_many(port, request.caller, std::move(uuids),
                     [left = std::move(left)](Checkpoint& checkpoint) -> Status {
                       const auto found = left.find(checkpoint.uuid);
                       // Nothing left is deleted; less than before is partly deleted; the same is
                       // no change.
                       const bool is_empty = found->second.first == "{}";
                       const bool is_less = found->second.first != checkpoint.resources;
                       std::tie(checkpoint.resources, checkpoint.size) = found->second;
                       if (is_empty)
                         checkpoint.state = CheckpointState::kDeleted;
                       else if (is_less)
                         checkpoint.state = CheckpointState::kPartiallyDeleted;
                       return {};
                     });
}

kj::Promise<HttpReply> set_metadata(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const Json* checkpoint = field(*body, "checkpoint");
  const Json* metadata = checkpoint == nullptr ? nullptr : field(*checkpoint, "metadata");
  if (metadata == nullptr || metadata->object() == nullptr)
    return error_reply(wrong("checkpoint.metadata: an object is missing"));
  const std::string uuid = request.arguments[0];
  const Caller caller = request.caller;
  // Kept for the answer, which shows the checkpoint as it is then.
  auto shared = std::make_shared<HttpRequest>(std::move(request));
  return change_many(port, caller, {uuid},
                     [text = json_text(*metadata)](Checkpoint& known) -> Status {
                       known.metadata = text;
                       return {};
                     })
      .then([&port, shared](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return show(port, std::move(*shared));
      });
}

}  // namespace

void add_checkpoint_routes(Router& router) {
  router.add_for_tasks(Method::kPost, "/api/v1/checkpoints", "Report a checkpoint", report);
  router.add_for_tasks(Method::kPatch, "/api/v1/checkpoints", "Report what is left of checkpoints",
                       patch);
  router.add(Method::kGet, "/api/v1/checkpoints/{uuid}", "One checkpoint", show);
  router.add(Method::kPost, "/api/v1/checkpoints/{uuid}/metadata", "Set a checkpoint's metadata",
             set_metadata);
}

}  // namespace muster::api
