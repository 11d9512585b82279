// The model registry: models, and versions of them, each of which names a checkpoint.
// Both are documents of the catalog; their bodies hold what only people read. A version is shown
// with its checkpoint as it was measured, so that lists of versions ask the metric store once for
// all of them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "api/determined/checkpoint_json.h"
#include "api/determined/documents.h"
#include "api/determined/measured.h"
#include "api/determined/names.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/router.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "trials/config_secrets.h"

namespace muster::api {
namespace {

/// The members of a body that a model or a version keeps.
constexpr const char* kKept[] = {"description", "notes", "comment", "labels", "metadata"};

/// Errors: kInvalidArgument: what the request says of one of them, or of the name, is of another
/// type.
Status check_kept(const Json& request) {
  TRY(check_texts(request, {"name", "description", "notes", "comment"}));
  TRY(check_text_lists(request, {"labels"}));
  const Json* metadata = field(request, "metadata");
  if (metadata == nullptr || metadata->object() != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument, "metadata is not an object", "");
}

Json given_or(const Json& body, const char* name, Json otherwise) {
  const Json* value = body.find(name);
  // Clients send null for what they do not say.
  if (value == nullptr || value->is_null()) return otherwise;
  return *value;
}

/// What the request says over what is known.
std::string merged_body(const Document& document, const Json& request) {
  Json body = body_of(document);
  for (const char* name : kKept) {
    // A null leaves the member as it was: field() counts it as absent.
    if (const Json* value = field(request, name)) body.member(name) = *value;
  }
  return json_text(body);
}

Json model_json(const ClusterState& state, const Document& model) {
  const Json body = body_of(model);
  return Json::Object{
      {"id", model.id},
      {"name", model.name},
      {"description", given_or(body, "description", "")},
      {"notes", given_or(body, "notes", "")},
      {"labels", given_or(body, "labels", Json::Array{})},
      {"metadata", given_or(body, "metadata", Json::Object{})},
      {"creationTime", time_json(model.create_time)},
      {"lastUpdatedTime", time_json(model.change_time)},
      {"username", model.user_name},
      {"userId", user_number(model.user)},
      // Models have no workspace: 1 is the first, which always is.
      {"workspaceId", 1},
      {"archived", model.is_archived},
      {"numVersions", state.catalog().all(DocumentKind::kModelVersion, model.id).size()}};
}

/// A version with all that is shown of it, before its checkpoint is measured.
struct VersionDetails {
  DocumentRef version;
  Json model;
  CheckpointDetails checkpoint;
};

Result<VersionDetails> version_details(const ClusterState& state, const DocumentRef& version) {
  const DocumentRef model = state.catalog().find(DocumentKind::kModel, version->parent);
  // A version names one checkpoint.
  CheckpointDetails checkpoint = TRY(details_of(state, version->checkpoints.front()));
  return VersionDetails{version, model_json(state, *model), std::move(checkpoint)};
}

Json version_json(const ApiPort& port, const VersionDetails& details) {
  const Json body = body_of(*details.version);
  return Json::Object{{"id", details.version->id},
                      {"version", details.version->number},
                      {"name", details.version->name},
                      {"comment", given_or(body, "comment", "")},
                      {"notes", given_or(body, "notes", "")},
                      {"labels", given_or(body, "labels", Json::Array{})},
                      {"metadata", given_or(body, "metadata", Json::Object{})},
                      {"creationTime", time_json(details.version->create_time)},
                      {"lastUpdatedTime", time_json(details.version->change_time)},
                      {"username", details.version->user_name},
                      {"userId", user_number(details.version->user)},
                      {"model", details.model},
                      {"checkpoint", checkpoint_json(port, details.checkpoint)}};
}

// What is measured of a version is measured of its checkpoint.
void add_questions(const VersionDetails& details, std::vector<MetricQuestion>& questions) {
  add_questions(details.checkpoint, questions);
}
void fill_in(VersionDetails& details, MetricAnswers& answers) {
  fill_in(details.checkpoint, answers);
}

using Versions = std::vector<VersionDetails>;
using ShowVersions = std::function<HttpReply(const Versions&)>;

/// Looks versions up, measures their checkpoints and shows them.
kj::Promise<HttpReply> show_versions(ApiPort& port, const Caller& caller,
                                     std::function<Result<Versions>(const ClusterState&)> find,
                                     ShowVersions show) {
  return look<Versions>(port, caller, std::move(find))
      .then([&port, show = std::move(show),
             identity = caller.identity](Result<Versions> found) -> kj::Promise<HttpReply> {
        if (!found.has_value()) return error_reply(found.error());
        // Before anything is measured: a caller sees what he may.
        for (VersionDetails& details : *found) show_to(identity, details.checkpoint);
        return measured(port, std::move(found).value()).then([show](Result<Versions> full) {
          return full.has_value() ? show(*full) : error_reply(full.error());
        });
      });
}

// ---- models ----

std::function<Result<Json>(const ClusterState&, const Document&)> as_model() {
  return [](const ClusterState& state, const Document& model) -> Result<Json> {
    return Json(Json::Object{{"model", model_json(state, model)}});
  };
}

std::function<Result<DocumentRef>(const ClusterState&)> find_model(const std::string& name) {
  return [name](const ClusterState& state) {
    return find_document(state, DocumentKind::kModel, 0, name);
  };
}

kj::Promise<HttpReply> create_model(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  // By name rather than silently into the first workspace.
  for (const Status& checked : {check_no_workspace(*body, "models"), check_kept(*body)}) {
    if (!checked.has_value()) return error_reply(checked.error());
  }
  Document model;
  model.kind = DocumentKind::kModel;
  model.name = text_field(*body, "name").value_or("");
  // Members that are not known are not stored.
  model.body = merged_body(model, *body);
  return store_document(port, request.caller, std::move(model), as_model());
}

std::string text_in(const Document& document, const char* name) {
  const Json body = body_of(document);
  const Json* value = body.find(name);
  return value == nullptr || value->text() == nullptr ? "" : *value->text();
}

Status sort(const ClusterState& state, std::vector<DocumentRef>& models,
            const HttpRequest& request) {
  using One = DocumentRef;
  const auto versions = [&state](const One& one) {
    return state.catalog().all(DocumentKind::kModelVersion, one->id).size();
  };
  // The keys are those of Determined's SortBy; its other values are refused by name.
  return sort_list<One>(
      request, models,
      {sort_key<One>("SORT_BY_NAME", [](const One& one) { return one->name; }),
       sort_key<One>("SORT_BY_DESCRIPTION",
                     [](const One& one) { return text_in(*one, "description"); }),
       sort_key<One>("SORT_BY_CREATION_TIME", [](const One& one) { return one->create_time; }),
       sort_key<One>("SORT_BY_LAST_UPDATED_TIME", [](const One& one) { return one->change_time; }),
       sort_key<One>("SORT_BY_NUM_VERSIONS", versions),
       sort_key<One>("SORT_BY_WORKSPACE", [](const One&) { return kFirstWorkspaceId; })});
}

// All labels, not any.
bool has_all_labels(const Document& model, const std::vector<std::string>& wanted) {
  const Json body = body_of(model);
  const std::vector<std::string> labels =
      texts_field(body, "labels").value_or(std::vector<std::string>());
  return std::ranges::all_of(wanted, [&](const std::string& label) {
    return std::ranges::find(labels, label) != labels.end();
  });
}

/// All models are in the first workspace.
bool is_wanted(const HttpRequest& request, std::optional<bool> is_archived, const Document& model) {
  // Parts of texts, as Determined's filters have it.
  // Filters by workspace ask for the one in which all models are.
  return holds(request, "users", model.user_name) &&
         holds(request, "userIds", std::to_string(user_number(model.user))) &&
         holds(request, "id", std::to_string(model.id)) &&
         holds(request, "workspaceIds", std::to_string(kFirstWorkspaceId)) &&
         holds(request, "workspaceNames", kUncategorized) &&
         model.name.find(request.parameter("name")) != std::string::npos &&
         text_in(model, "description").find(request.parameter("description")) !=
             std::string::npos &&
         (!is_archived || *is_archived == model.is_archived) &&
         has_all_labels(model, request.parameters("labels"));
}

kj::Promise<HttpReply> list_models(ApiPort& port, HttpRequest request) {
  // Shared, since both continuations read the request after this function has returned.
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  using All = std::vector<Json>;
  return look<All>(port, shared->caller,
                   [shared](const ClusterState& state) -> Result<All> {
                     std::vector<DocumentRef> models = state.catalog().all(DocumentKind::kModel);
                     const auto is_archived = TRY(flag_parameter(*shared, "archived"));
                     std::erase_if(models, [&](const DocumentRef& one) {
                       return !is_wanted(*shared, is_archived, *one);
                     });
                     TRY(sort(state, models, *shared));
                     All all;
                     for (const DocumentRef& model : models)
                       all.push_back(model_json(state, *model));
                     return all;
                   })
      .then([shared](Result<All> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        return list_reply(*shared, "models", *all, [](const Json& model) { return model; });
      });
}

kj::Promise<HttpReply> show_model(ApiPort& port, HttpRequest request) {
  return look<Json>(port, request.caller,
                    [name = request.arguments[0]](const ClusterState& state) -> Result<Json> {
                      const DocumentRef model =
                          TRY(find_document(state, DocumentKind::kModel, 0, name));
                      return model_json(state, *model);
                    })
      .then([](Result<Json> model) {
        return model.has_value() ? json_reply(Json::Object{{"model", *model}})
                                 : error_reply(model.error());
      });
}

kj::Promise<HttpReply> patch_model(ApiPort& port, HttpRequest request) {
  auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  for (const Status& checked : {check_no_workspace(*body, "models"), check_kept(*body)}) {
    if (!checked.has_value()) return error_reply(checked.error());
  }
  return change_document(
      port, request.caller, find_model(request.arguments[0]),
      [body = std::move(*body)](Document& model) -> Status {
        model.name = text_field(body, "name").value_or(model.name);
        // Only what is said changes.
        model.body = merged_body(model, body);
        return {};
      },
      as_model());
}

kj::Promise<HttpReply> archive_model(ApiPort& port, HttpRequest request, bool is_archived) {
  return change_document(
      port, request.caller, find_model(request.arguments[0]),
      [is_archived](Document& model) -> Status {
        model.is_archived = is_archived;
        return {};
      },
      as_model());
}

kj::Promise<HttpReply> delete_model(ApiPort& port, HttpRequest request) {
  return delete_document(port, request.caller, find_model(request.arguments[0]));
}

// ---- versions ----

kj::Promise<HttpReply> one_version(ApiPort& port, const Caller& caller, std::string model,
                                   std::string number) {
  return show_versions(
      port, caller,
      [model = std::move(model),
       number = std::move(number)](const ClusterState& state) -> Result<Versions> {
        const DocumentRef version = TRY(find_version(state, model, number));
        Versions all;
        all.push_back(TRY(version_details(state, version)));
        return all;
      },
      [&port](const Versions& all) {
        return json_reply(Json::Object{{"modelVersion", version_json(port, all.front())}});
      });
}

kj::Promise<HttpReply> register_version(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status kept = check_kept(*body); !kept.has_value()) return error_reply(kept.error());
  const auto uuid = text_field(*body, "checkpointUuid");
  if (!uuid) return error_reply({ErrorCode::kInvalidArgument, "checkpointUuid is missing", ""});
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  return look<DocumentRef>(port, shared->caller, find_model(shared->arguments[0]))
      .then([&port, shared, body = *body,
             uuid = *uuid](Result<DocumentRef> model) -> kj::Promise<HttpReply> {
        if (!model.has_value()) return error_reply(model.error());
        Document version;
        version.kind = DocumentKind::kModelVersion;
        version.parent = (*model)->id;
        version.name = text_field(body, "name").value_or("");
        version.checkpoints = {uuid};
        version.body = merged_body(version, body);
        // The document's answer is only its number: the version is shown by another look, with
        // what was measured.
        return store_document(port, shared->caller, std::move(version),
                              [](const ClusterState&, const Document& stored) -> Result<Json> {
                                return Json(static_cast<std::int64_t>(stored.number));
                              })
            .then([&port, shared](HttpReply reply) -> kj::Promise<HttpReply> {
              if (reply.status != 200) return reply;
              // The body of the first answer is the number.
              return one_version(port, shared->caller, shared->arguments[0], reply.body);
            });
      });
}

kj::Promise<HttpReply> list_versions(ApiPort& port, HttpRequest request) {
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  return show_versions(
             port, shared->caller,
             [shared](const ClusterState& state) -> Result<Versions> {
               const DocumentRef model =
                   TRY(find_document(state, DocumentKind::kModel, 0, shared->arguments[0]));
               Versions all;
               for (const DocumentRef& version :
                    state.catalog().all(DocumentKind::kModelVersion, model->id))
                 all.push_back(TRY(version_details(state, version)));
               using One = VersionDetails;
               TRY(sort_list<One>(
                   *shared, all,
                   {sort_key<One>("SORT_BY_VERSION",
                                  [](const One& one) { return one.version->number; }),
                    sort_key<One>("SORT_BY_CREATION_TIME",
                                  [](const One& one) { return one.version->create_time; })}));
               return all;
             },
             [&port, shared](const Versions& all) {
               return list_reply(*shared, "modelVersions", all, [&port](const VersionDetails& one) {
                 return version_json(port, one);
               });
             })
      .then([&port, shared](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        auto list = parse_json(reply.body);
        // Determined's reply has the model beside the list, and show_versions() shows versions
        // alone.
        return look<Json>(port, shared->caller,
                          [shared](const ClusterState& state) -> Result<Json> {
                            const DocumentRef model = TRY(find_document(state, DocumentKind::kModel,
                                                                        0, shared->arguments[0]));
                            return model_json(state, *model);
                          })
            .then([list = std::move(list).value()](Result<Json> model) mutable -> HttpReply {
              if (!model.has_value()) return error_reply(model.error());
              list.member("model") = std::move(model).value();
              return json_reply(list);
            });
      });
}

kj::Promise<HttpReply> show_version(ApiPort& port, HttpRequest request) {
  return one_version(port, request.caller, request.arguments[0], request.arguments[1]);
}

std::function<Result<DocumentRef>(const ClusterState&)> version_finder(const HttpRequest& request) {
  return [model = request.arguments[0], number = request.arguments[1]](const ClusterState& state) {
    return find_version(state, model, number);
  };
}

kj::Promise<HttpReply> patch_version(ApiPort& port, HttpRequest request) {
  auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  // A version is its checkpoint: another one is another version.
  if (const Status kept = refuse_fields(*body, {"checkpoint"}, "register it as another version");
      !kept.has_value())
    return error_reply(kept.error());
  if (const Status kept = check_kept(*body); !kept.has_value()) return error_reply(kept.error());
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  return change_document(
             port, shared->caller, version_finder(*shared),
             [body = std::move(*body)](Document& version) -> Status {
               version.name = text_field(body, "name").value_or(version.name);
               version.body = merged_body(version, body);
               return {};
             },
             [](const ClusterState&, const Document&) -> Result<Json> { return Json(); })
      .then([&port, shared](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return one_version(port, shared->caller, shared->arguments[0], shared->arguments[1]);
      });
}

kj::Promise<HttpReply> delete_version(ApiPort& port, HttpRequest request) {
  return delete_document(port, request.caller, version_finder(request));
}

/// The labels of all models, the most used first. All are in the first workspace.
kj::Promise<HttpReply> list_labels(ApiPort& port, HttpRequest request) {
  const auto workspace = id_parameter(request, "workspaceId");
  if (!workspace.has_value()) return error_reply(workspace.error());
  // 0: the parameter is absent.
  const bool is_first = *workspace == 0 || *workspace == kFirstWorkspaceId;
  return look<Json>(
             port, request.caller,
             [is_first](const ClusterState& state) -> Result<Json> {
               std::map<std::string, std::size_t> uses;
               for (const DocumentRef& model : is_first ? state.catalog().all(DocumentKind::kModel)
                                                        : std::vector<DocumentRef>()) {
                 for (const std::string& label :
                      texts_field(body_of(*model), "labels").value_or(std::vector<std::string>()))
                   ++uses[label];
               }
               std::vector<std::pair<std::string, std::size_t>> ranked(uses.begin(), uses.end());
               // Stable: labels of equal use stay in the order of their names.
               std::ranges::stable_sort(ranked, std::greater(),
                                        [](const auto& one) { return one.second; });
               Json::Array labels;
               for (const auto& [label, count] : ranked) labels.emplace_back(label);
               return Json(Json::Object{{"labels", std::move(labels)}});
             })
      .then([](Result<Json> labels) {
        return labels.has_value() ? json_reply(*labels) : error_reply(labels.error());
      });
}

}  // namespace

void add_model_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/model/labels", "Labels of models", list_labels,
             {"workspaceId"});
  router.add(Method::kPost, "/api/v1/models", "Create a model", create_model);
  router.add(Method::kGet, "/api/v1/models", "Models", list_models,
             list_parameters({"sortBy", "orderBy", "name", "description", "labels", "archived",
                              "users", "userIds", "id", "workspaceIds", "workspaceNames"}));
  router.add(Method::kGet, "/api/v1/models/{model}", "One model", show_model);
  router.add(Method::kPatch, "/api/v1/models/{model}", "Change a model", patch_model);
  router.add(Method::kDelete, "/api/v1/models/{model}", "Delete a model with its versions",
             delete_model);
  router.add(Method::kPost, "/api/v1/models/{model}/archive", "Archive a model",
             [](ApiPort& port, HttpRequest request) {
               return archive_model(port, std::move(request), true);
             });
  router.add(Method::kPost, "/api/v1/models/{model}/unarchive", "Unarchive a model",
             [](ApiPort& port, HttpRequest request) {
               return archive_model(port, std::move(request), false);
             });
  router.add(Method::kPost, "/api/v1/models/{model}/versions",
             "Register a checkpoint as the next version", register_version);
  router.add(Method::kGet, "/api/v1/models/{model}/versions", "Versions of a model", list_versions,
             list_parameters({"sortBy", "orderBy"}));
  router.add(Method::kGet, "/api/v1/models/{model}/versions/{version}", "One version",
             show_version);
  router.add(Method::kPatch, "/api/v1/models/{model}/versions/{version}", "Change a version",
             patch_version);
  router.add(Method::kDelete, "/api/v1/models/{model}/versions/{version}", "Delete a version",
             delete_version);
}

}  // namespace muster::api
