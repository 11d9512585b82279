// Workspaces with their projects, and templates of configurations.
// The first workspace and its project are no documents and are put in front of those that are.
// Counts of experiments are taken of one walk over all of them, as experiments name their places
// by text.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/determined/documents.h"
#include "api/determined/names.h"
#include "api/determined/submissions.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/router.h"
#include "model/catalog_names.h"
#include "text/json_text.h"
#include "text/words.h"
#include "text/yaml_text.h"

namespace muster::api {
namespace {

/// What Determined's workspaces have and ours have not.
Status check_workspace_fields(const Json& body) {
  TRY(check_texts(body, {"name"}));
  // Each of these would change where something runs or lies: silently ignored, it would not.
  return refuse_fields(body,
                       {"agentUserGroup", "checkpointStorageConfig", "clusterNamespaceMeta",
                        "clusterQuotaPairs", "defaultAuxPool", "defaultAuxResourcePool",
                        "defaultComputePool", "defaultComputeResourcePool"},
                       "say it in the experiments' files");
}

Status check_project_fields(const Json& body) {
  TRY(check_texts(body, {"name", "description"}));
  return refuse_fields(body, {"key"}, "each project gets one");
}

/// The first workspace and the first project, which always are.
Document first_entry(DocumentKind kind) {
  Document document;
  document.kind = kind;
  document.name = kUncategorized;
  document.user_name = "root";
  return document;
}

struct Counts {
  std::uint32_t experiments = 0;
  std::uint32_t active = 0;
  std::size_t trials = 0;
};
/// Of all places at once: each experiment is looked at once, and each pair of names is looked up
/// once.
class EntryCounts {
 public:
  explicit EntryCounts(const ClusterState& state) {
    std::map<std::pair<std::string, std::string>, WorkspaceIds> known;
    for (const auto& [id, experiment] : state.experiments().experiments()) {
      const ExperimentLabels& labels = experiment.labels;
      const auto [entry, is_new] = known.try_emplace({labels.workspace, labels.project});
      if (is_new) entry->second = workspace_ids_of(state.catalog(), labels);
      // Both counts of the same walk.
      for (Counts* counts : {&workspaces_[entry->second.workspace],
                             &projects_[{entry->second.workspace, entry->second.project}]}) {
        ++counts->experiments;
        counts->active += is_final(experiment.state) ? 0 : 1;
        counts->trials += experiment.trials.size();
      }
    }
    // Projects without experiments count as well.
    for (const DocumentRef& project : state.catalog().all(DocumentKind::kProject))
      ++projects_in_[project->parent];
  }
  Counts of_workspace(std::uint32_t workspace) const { return at(workspaces_, workspace); }
  Counts of_project(std::uint32_t workspace, std::uint32_t project) const {
    return at(projects_, std::pair(workspace, project));
  }
  /// By the workspace's document; 0: the first, which has one.
  std::uint32_t projects_in(std::uint32_t document) const {
    return document == 0 ? 1 : at(projects_in_, document);
  }

 private:
  template <class Map>
  static typename Map::mapped_type at(const Map& map, const typename Map::key_type& key) {
    // A place without experiments is in none of the maps.
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type() : found->second;
  }
  std::map<std::uint32_t, Counts> workspaces_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Counts> projects_;
  std::map<std::uint32_t, std::uint32_t> projects_in_;
};

Json workspace_json(const EntryCounts& counts, const Document& workspace) {
  const std::uint32_t id = entry_id(workspace.id);
  return Json::Object{{"id", id},
                      // Fields that Determined's pages read of every place.
                      {"name", workspace.name},
                      {"archived", workspace.is_archived},
                      {"username", workspace.user_name},
                      {"userId", user_number(workspace.user)},
                      // The first is there in every cluster and is no document.
                      {"immutable", workspace.id == 0},
                      {"pinned", false},
                      {"numProjects", counts.projects_in(workspace.id)},
                      {"numExperiments", counts.of_workspace(id).experiments},
                      // Determined's other states are of a deletion under way, which is one step
                      // here.
                      {"state", "WORKSPACE_STATE_UNSPECIFIED"},
                      {"errorMessage", ""}};
}

Json project_json(const EntryCounts& all, const Document& project) {
  const Json body = body_of(project);
  const std::uint32_t workspace = entry_id(project.parent);
  const Counts counts = all.of_project(workspace, entry_id(project.id));
  const Json* description = body.find("description");
  const Json* notes = body.find("notes");
  return Json::Object{{"id", entry_id(project.id)},
                      {"name", project.name},
                      {"description", description == nullptr ? Json("") : *description},
                      {"notes", notes == nullptr ? Json(Json::Array{}) : *notes},
                      // Determined's short key of a project, which nothing here uses.
                      {"key", fmt::format("P{}", entry_id(project.id))},
                      {"workspaceId", workspace},
                      {"archived", project.is_archived},
                      {"username", project.user_name},
                      {"userId", user_number(project.user)},
                      {"immutable", project.id == 0},
                      {"numExperiments", counts.experiments},
                      {"numActiveExperiments", counts.active},
                      {"numRuns", counts.trials},
                      {"state", "WORKSPACE_STATE_UNSPECIFIED"},
                      {"errorMessage", ""}};
}

/// By the id that HTTP has for it; the first place has no document.
Result<Document> entry_at(const ClusterState& state, DocumentKind kind, std::uint32_t id) {
  // 0 is the first place, which the catalog has not.
  const auto document = document_of(id);
  if (!document) return first_entry(kind);
  const DocumentRef found = state.catalog().find(kind, *document);
  if (found == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no {} {}",
                            kind == DocumentKind::kWorkspace ? "workspace" : "project", id),
                "");
  return *found;
}

HttpReply reply_of(const Result<Json>& shown) {
  return shown.has_value() ? json_reply(*shown) : error_reply(shown.error());
}

using All = std::vector<Json>;
kj::Promise<HttpReply> listed(
    ApiPort& port, HttpRequest request, std::string name,
    std::function<Result<All>(const ClusterState&, const HttpRequest&)> find) {
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  return look<All>(port, shared->caller,
                   [shared, find = std::move(find)](const ClusterState& state) {
                     return find(state, *shared);
                   })
      .then([shared, name = std::move(name)](Result<All> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        return list_reply(*shared, name, *all, [](const Json& one) { return one; });
      });
}

bool is_like(const HttpRequest& request, const std::string& name) {
  // Both filters may be given; the case-sensitive one must match the whole name.
  if (request.has("nameCaseSensitive") && request.parameter("nameCaseSensitive") != name)
    return false;
  return lower(name).find(lower(request.parameter("name"))) != std::string::npos;
}

bool is_wanted(const HttpRequest& request, std::optional<bool> is_archived, const Document& place) {
  return is_like(request, place.name) && holds(request, "users", place.user_name) &&
         holds(request, "userIds", std::to_string(user_number(place.user))) &&
         (!is_archived || *is_archived == place.is_archived);
}

// Requires: of workspace_json or project_json, which always write the two.
std::int64_t number_of(const Json& place) { return *place.find("id")->whole(); }
std::string name_of(const Json& place) { return *place.find("name")->text(); }

Result<All> workspaces(const ClusterState& state, const HttpRequest& request) {
  All all;
  const EntryCounts counts(state);
  const auto is_archived = TRY(flag_parameter(request, "archived"));
  const auto show = [&](const Document& workspace) {
    if (is_wanted(request, is_archived, workspace))
      all.push_back(workspace_json(counts, workspace));
  };
  // The first place is listed as one of them.
  show(first_entry(DocumentKind::kWorkspace));
  for (const DocumentRef& workspace : state.catalog().all(DocumentKind::kWorkspace))
    show(*workspace);
  TRY(sort_list<Json>(
      request, all,
      {sort_key<Json>("SORT_BY_ID", number_of), sort_key<Json>("SORT_BY_NAME", name_of)}));
  return all;
}

Result<All> projects(const ClusterState& state, const HttpRequest& request) {
  const std::uint32_t id = TRY(parse_id(request.arguments[0], "a workspace"));
  const Document workspace = TRY(entry_at(state, DocumentKind::kWorkspace, id));
  All all;
  const EntryCounts counts(state);
  const auto is_archived = TRY(flag_parameter(request, "archived"));
  const auto show = [&](const Document& project) {
    if (is_wanted(request, is_archived, project)) all.push_back(project_json(counts, project));
  };
  if (workspace.id == 0) {
    show(first_entry(DocumentKind::kProject));
  } else {
    for (const DocumentRef& project : state.catalog().all(DocumentKind::kProject, workspace.id))
      show(*project);
  }
  TRY(sort_list<Json>(
      request, all,
      // Projects are created in the order of their numbers.
      {sort_key<Json>("SORT_BY_ID", number_of), sort_key<Json>("SORT_BY_CREATION_TIME", number_of),
       sort_key<Json>("SORT_BY_NAME", name_of),
       sort_key<Json>("SORT_BY_DESCRIPTION", [](const Json& project) {
         return json_text(*project.find("description"));
       })}));
  return all;
}

kj::Promise<HttpReply> show_entry(ApiPort& port, HttpRequest request, DocumentKind kind) {
  const bool is_workspace = kind == DocumentKind::kWorkspace;
  const auto id = parse_id(request.arguments[0], is_workspace ? "a workspace" : "a project");
  // Which of the two is asked for decides the words of an error.
  if (!id.has_value()) return error_reply(id.error());
  return look<Json>(
             port, request.caller,
             [id = *id, kind, is_workspace](const ClusterState& state) -> Result<Json> {
               const Document place = TRY(entry_at(state, kind, id));
               if (is_workspace)
                 return Json(
                     Json::Object{{"workspace", workspace_json(EntryCounts(state), place)}});
               return Json(Json::Object{{"project", project_json(EntryCounts(state), place)}});
             })
      .then([](Result<Json> shown) { return reply_of(shown); });
}

kj::Promise<HttpReply> create_workspace(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status plain = check_workspace_fields(*body); !plain.has_value())
    return error_reply(plain.error());
  Document workspace;
  workspace.kind = DocumentKind::kWorkspace;
  workspace.name = text_field(*body, "name").value_or("");
  workspace.body = "{}";
  return store_document(
      port, request.caller, std::move(workspace),
      [](const ClusterState& state, const Document& stored) -> Result<Json> {
        return Json(Json::Object{{"workspace", workspace_json(EntryCounts(state), stored)},
                                 {"namespaceBindings", Json::Object{}}});
      });
}

kj::Promise<HttpReply> create_project(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status plain = check_project_fields(*body); !plain.has_value())
    return error_reply(plain.error());
  const auto id = parse_id(request.arguments[0], "a workspace");
  if (!id.has_value()) return error_reply(id.error());
  const auto workspace = document_of(*id);
  // The first workspace has one project, and no more can be made in it.
  if (!workspace)
    return error_reply({ErrorCode::kFailedPrecondition,
                        "the workspace Uncategorized takes no projects", "create a workspace"});
  Document project;
  project.kind = DocumentKind::kProject;
  project.parent = *workspace;
  project.name = text_field(*body, "name").value_or("");
  // An object, into which notes are put later.
  project.body =
      json_text(Json(Json::Object{{"description", text_field(*body, "description").value_or("")}}));
  return store_document(
      port, request.caller, std::move(project),
      [](const ClusterState& state, const Document& stored) -> Result<Json> {
        return Json(Json::Object{{"project", project_json(EntryCounts(state), stored)}});
      });
}

using FindEntry = std::function<Result<DocumentRef>(const ClusterState& state)>;
FindEntry entry_finder(DocumentKind kind, std::uint32_t document) {
  return [kind, document](const ClusterState& state) -> Result<DocumentRef> {
    DocumentRef found = state.catalog().find(kind, document);
    if (found != nullptr) return found;
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no {} {}", kind_name(kind), shown_id(kind, document)), "");
  };
}

using ChangeEntry = std::function<Status(Document& place)>;
using ShowEntry = std::function<Result<Json>(const ClusterState& state, const Document& stored)>;
Result<Json> show_workspace(const ClusterState& state, const Document& stored) {
  return Json(Json::Object{{"workspace", workspace_json(EntryCounts(state), stored)},
                           {"namespaceBindings", Json::Object{}}});
}
Result<Json> show_project(const ClusterState& state, const Document& stored) {
  return Json(Json::Object{{"project", project_json(EntryCounts(state), stored)}});
}

kj::Promise<HttpReply> change_entry(ApiPort& port, const HttpRequest& request, DocumentKind kind,
                                    ChangeEntry change, ShowEntry show) {
  const auto id = parse_id(request.arguments[0], kind_name(kind));
  if (!id.has_value()) return error_reply(id.error());
  const auto document = document_of(*id);
  // The first place is no document that could change.
  if (!document)
    return error_reply(
        {ErrorCode::kFailedPrecondition, fmt::format("{} cannot be changed", kUncategorized), ""});
  return change_document(port, request.caller, entry_finder(kind, *document), std::move(change),
                         std::move(show));
}

kj::Promise<HttpReply> archive_entry(ApiPort& port, HttpRequest request, DocumentKind kind,
                                     bool is_archived) {
  const auto change = [is_archived](Document& place) -> Status {
    place.is_archived = is_archived;
    return {};
  };
  return change_entry(
      port, request, kind, change,
      [](const ClusterState&, const Document&) -> Result<Json> { return Json(Json::Object{}); });
}

kj::Promise<HttpReply> patch_workspace(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status plain = check_workspace_fields(*body); !plain.has_value())
    return error_reply(plain.error());
  return change_entry(
      port, request, DocumentKind::kWorkspace,
      [body = *body](Document& workspace) -> Status {
        workspace.name = text_field(body, "name").value_or(workspace.name);
        return {};
      },
      show_workspace);
}

kj::Promise<HttpReply> patch_project(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status plain = check_project_fields(*body); !plain.has_value())
    return error_reply(plain.error());
  return change_entry(
      port, request, DocumentKind::kProject,
      [body = *body](Document& project) -> Status {
        project.name = text_field(body, "name").value_or(project.name);
        // The rest of the body, notes and origin, stays.
        if (const auto description = text_field(body, "description")) {
          Json kept = body_of(project);
          kept.member("description") = *description;
          project.body = json_text(kept);
        }
        return {};
      },
      show_project);
}

/// {name, contents}: a page.
Result<Json> detail_of(const Json& note) {
  const auto name = text_field(note, "name");
  const auto contents = text_field(note, "contents");
  if (!name || !contents) return fail(wrong("a note has a name and contents"));
  return Json(Json::Object{{"name", *name}, {"contents", *contents}});
}

/// All pages anew, or one behind those that are there.
kj::Promise<HttpReply> set_notes(ApiPort& port, HttpRequest request, bool is_added) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const Json* list = field(*body, "notes");
  if (!is_added && (list == nullptr || list->array() == nullptr))
    return error_reply(wrong("notes: a list is missing"));
  Json::Array notes;
  for (const Json& one : is_added ? Json::Array{*body} : *list->array()) {
    auto note = detail_of(one);
    if (!note.has_value()) return error_reply(note.error());
    notes.push_back(std::move(*note));
  }
  const auto change = [notes, is_added](Document& project) -> Status {
    Json kept = body_of(project);
    // A body may have had no notes.
    Json& known = kept.member("notes");
    // Behind those that are there, where one is added.
    Json::Array all = is_added && known.array() != nullptr ? *known.array() : Json::Array();
    all.insert(all.end(), notes.begin(), notes.end());
    known = std::move(all);
    project.body = json_text(kept);
    return {};
  };
  return change_entry(port, request, DocumentKind::kProject, change,
                      [](const ClusterState&, const Document& stored) -> Result<Json> {
                        // The change has set the notes: they are found.
                        return Json(Json::Object{{"notes", *body_of(stored).find("notes")}});
                      });
}

kj::Promise<HttpReply> delete_entry(ApiPort& port, HttpRequest request, DocumentKind kind) {
  const auto id = parse_id(request.arguments[0],
                           kind == DocumentKind::kWorkspace ? "a workspace" : "a project");
  if (!id.has_value()) return error_reply(id.error());
  const auto document = document_of(*id);
  if (!document)
    return error_reply({ErrorCode::kFailedPrecondition, "Uncategorized cannot be deleted", ""});
  // Determined answers that it is done.
  return delete_document(port, request.caller, entry_finder(kind, *document))
      .then([](HttpReply reply) {
        return reply.status == 200 ? json_reply(Json::Object{{"completed", true}})
                                   : std::move(reply);
      });
}

/// Moves an experiment to a project: it is named by it.
kj::Promise<HttpReply> move_experiment(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  const auto id = parse_id(request.arguments[0], "an experiment");
  if (!body.has_value()) return error_reply(body.error());
  if (!id.has_value()) return error_reply(id.error());
  const auto wanted = id_field(*body, "destinationProjectId");
  if (!wanted.has_value()) return error_reply(wanted.error());
  if (!*wanted)
    return error_reply({ErrorCode::kInvalidArgument, "destinationProjectId is missing", ""});
  return look<UpdateExperiment>(
             port, request.caller,
             [id = *id, wanted = **wanted](const ClusterState& state) -> Result<UpdateExperiment> {
               const Document project = TRY(entry_at(state, DocumentKind::kProject, wanted));
               // Both names, since a project's name is one within its workspace.
               UpdateExperiment update;
               update.experiment = ExperimentId(id);
               update.project = project.id == 0 ? "" : project.name;
               update.workspace =
                   project.id == 0
                       ? ""
                       : TRY(entry_at(state, DocumentKind::kWorkspace, entry_id(project.parent)))
                             .name;
               return update;
             })
      .then([&port,
             caller = request.caller](Result<UpdateExperiment> update) -> kj::Promise<HttpReply> {
        if (!update.has_value()) return error_reply(update.error());
        return submit_one(port, caller, std::move(update).value());
      });
}

// ---- templates ----

Json template_json(const Document& document) {
  const auto config = parse_yaml(document.body);
  return Json::Object{{"name", document.name},
                      // A stored template is JSON, which YAML includes.
                      {"config", config.has_value() ? config->root : Json(Json::Object{})},
                      {"workspaceId", 1}};
}

Result<All> templates(const ClusterState& state, const HttpRequest& request) {
  All all;
  for (const DocumentRef& one : state.catalog().all(DocumentKind::kTemplate)) {
    if (is_like(request, one->name)) all.push_back(template_json(*one));
  }
  TRY(sort_list<Json>(request, all, {sort_key<Json>("SORT_BY_NAME", name_of)}));
  return all;
}

kj::Promise<HttpReply> show_template(ApiPort& port, HttpRequest request) {
  return look<Json>(port, request.caller,
                    [name = request.arguments[0]](const ClusterState& state) -> Result<Json> {
                      const DocumentRef found =
                          TRY(find_document(state, DocumentKind::kTemplate, 0, name));
                      return Json(Json::Object{{"template", template_json(*found)}});
                    })
      .then([](Result<Json> shown) { return reply_of(shown); });
}

/// What a template of that name may be before it is stored.
enum class Before { kAbsent, kPresent, kEither };

kj::Promise<HttpReply> store_config(ApiPort& port, HttpRequest request, const Json& config,
                                    Before before) {
  return look<std::uint32_t>(
             port, request.caller,
             [name = request.arguments[0],
              before](const ClusterState& state) -> Result<std::uint32_t> {
               const DocumentRef known = state.catalog().find(DocumentKind::kTemplate, 0, name);
               if (known != nullptr && before == Before::kAbsent)
                 return fail(ErrorCode::kAlreadyExists,
                             fmt::format("there is a template named {} already", name), "");
               if (known == nullptr && before == Before::kPresent)
                 return fail(ErrorCode::kNotFound, fmt::format("there is no template {}", name),
                             "");
               // 0: a new one has no id yet.
               return known == nullptr ? 0 : known->id;
             })
      .then([&port, request,
             text = json_text(config)](Result<std::uint32_t> id) -> kj::Promise<HttpReply> {
        if (!id.has_value()) return error_reply(id.error());
        Document document;
        document.kind = DocumentKind::kTemplate;
        document.id = *id;
        document.name = request.arguments[0];
        document.body = text;
        return store_document(port, request.caller, std::move(document),
                              [](const ClusterState&, const Document& stored) -> Result<Json> {
                                return Json(Json::Object{{"template", template_json(stored)}});
                              });
      });
}

kj::Promise<HttpReply> store_template(ApiPort& port, HttpRequest request, Before before) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  // Determined sends the template within the body, our own tools send it bare.
  const Json* inner = field(*body, "template");
  const Json& said = inner == nullptr ? *body : *inner;
  const Json* config = field(said, "config");
  if (config == nullptr || config->object() == nullptr)
    return error_reply({ErrorCode::kInvalidArgument, "config: an object is missing", ""});
  if (const Status placed = check_no_workspace(said, "templates"); !placed.has_value())
    return error_reply(placed.error());
  return store_config(port, std::move(request), *config, before);
}

/// The body is the new configuration itself.
kj::Promise<HttpReply> patch_template(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  return store_config(port, std::move(request), *body, Before::kPresent);
}

kj::Promise<HttpReply> delete_template(ApiPort& port, HttpRequest request) {
  return delete_document(port, request.caller,
                         [name = request.arguments[0]](const ClusterState& state) {
                           return find_document(state, DocumentKind::kTemplate, 0, name);
                         });
}

void add_workspace_routes(Router& router) {
  router.add(
      Method::kGet, "/api/v1/workspaces", "Workspaces",
      [](ApiPort& port, HttpRequest request) {
        return listed(port, std::move(request), "workspaces", workspaces);
      },
      list_parameters(
          {"sortBy", "orderBy", "name", "nameCaseSensitive", "archived", "users", "userIds"}));
  router.add(Method::kPost, "/api/v1/workspaces", "Create a workspace", create_workspace);
  router.add(Method::kGet, "/api/v1/workspaces/{workspace}", "One workspace",
             [](ApiPort& port, HttpRequest request) {
               return show_entry(port, std::move(request), DocumentKind::kWorkspace);
             });
  router.add(Method::kDelete, "/api/v1/workspaces/{workspace}",
             "Delete a workspace without projects", [](ApiPort& port, HttpRequest request) {
               return delete_entry(port, std::move(request), DocumentKind::kWorkspace);
             });
  router.add(Method::kPatch, "/api/v1/workspaces/{workspace}", "Call a workspace otherwise",
             patch_workspace);
}

void add_routes_of_projects(Router& router) {
  router.add(Method::kPatch, "/api/v1/projects/{project}",
             "Call a project otherwise, or describe it", patch_project);
  router.add(Method::kPut, "/api/v1/projects/{project}/notes", "Set the notes of a project",
             [](ApiPort& port, HttpRequest request) {
               return set_notes(port, std::move(request), false);
             });
  router.add(
      Method::kPost, "/api/v1/projects/{project}/notes", "Add a note to a project",
      [](ApiPort& port, HttpRequest request) { return set_notes(port, std::move(request), true); });
  router.add(
      Method::kGet, "/api/v1/workspaces/{workspace}/projects", "Projects of a workspace",
      [](ApiPort& port, HttpRequest request) {
        return listed(port, std::move(request), "projects", projects);
      },
      list_parameters({"sortBy", "orderBy", "name", "archived", "users", "userIds"}));
  router.add(Method::kPost, "/api/v1/workspaces/{workspace}/projects", "Create a project",
             create_project);
  router.add(Method::kGet, "/api/v1/projects/{project}", "One project",
             [](ApiPort& port, HttpRequest request) {
               return show_entry(port, std::move(request), DocumentKind::kProject);
             });
  router.add(Method::kDelete, "/api/v1/projects/{project}",
             "Delete a project; its experiments stay", [](ApiPort& port, HttpRequest request) {
               return delete_entry(port, std::move(request), DocumentKind::kProject);
             });
  router.add(Method::kPost, "/api/v1/experiments/{experiment}/move",
             "Move an experiment to a project", move_experiment);
}

void add_archive_routes(Router& router) {
  for (const auto& [what, kind] : {std::pair("workspaces", DocumentKind::kWorkspace),
                                   std::pair("projects", DocumentKind::kProject)}) {
    for (const bool is_archived : {true, false}) {
      const char* verb = is_archived ? "archive" : "unarchive";
      router.add(
          Method::kPost, fmt::format("/api/v1/{}/{{{}}}/{}", what, kind_name(kind), verb),
          fmt::format("{} a {}: it takes experiments no more, or again", verb, kind_name(kind)),
          [kind = kind, is_archived](ApiPort& port, HttpRequest request) {
            return archive_entry(port, std::move(request), kind, is_archived);
          });
    }
  }
}

void add_template_routes(Router& router) {
  router.add(
      Method::kGet, "/api/v1/templates", "Templates of configurations",
      [](ApiPort& port, HttpRequest request) {
        return listed(port, std::move(request), "templates", templates);
      },
      list_parameters({"sortBy", "orderBy", "name"}));
  router.add(Method::kGet, "/api/v1/templates/{template}", "One template", show_template);
  router.add(Method::kPost, "/api/v1/templates/{template}", "Create a template",
             [](ApiPort& port, HttpRequest request) {
               return store_template(port, std::move(request), Before::kAbsent);
             });
  router.add(Method::kPut, "/api/v1/templates/{template}", "Store a template",
             [](ApiPort& port, HttpRequest request) {
               return store_template(port, std::move(request), Before::kEither);
             });
  router.add(Method::kPatch, "/api/v1/templates/{template}",
             "Store another configuration as a template", patch_template);
  router.add(Method::kDelete, "/api/v1/templates/{template}", "Delete a template", delete_template);
}

}  // namespace

void add_project_routes(Router& router) {
  add_workspace_routes(router);
  add_routes_of_projects(router);
  add_archive_routes(router);
  add_template_routes(router);
}

}  // namespace muster::api
