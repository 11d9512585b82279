// muster workspace VERB, muster project VERB: where experiments stand.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"
#include "cli/muster/catalog.h"
#include "cli/muster/experiment_tables.h"
#include "model/catalog_names.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster::cli {
namespace {

constexpr std::string_view kWorkspaces = "muster workspace list";
constexpr std::string_view kProjects = "muster project list";

/// The first workspace, or its project: it always is, and is no document.
Document first_entry(DocumentKind kind) {
  Document place;
  place.kind = kind;
  place.name = kUncategorized;
  place.user_name = "-";
  return place;
}
// Its number as users see it: 1.
bool is_first(const std::string& name) { return name == kUncategorized || name == "1"; }
bool is_first_or_none(const std::string& label) { return label.empty() || label == kUncategorized; }

Result<Document> workspace_of(Session& session, const std::string& name) {
  if (is_first(name)) return first_entry(DocumentKind::kWorkspace);
  return find_document(session, DocumentKind::kWorkspace, 0, name, kWorkspaces);
}

struct CatalogEntries {
  std::vector<Document> workspaces;
  std::vector<Document> projects;
};
Result<CatalogEntries> all_entries(Session& session) {
  CatalogEntries entries;
  entries.workspaces = TRY(documents(session, DocumentKind::kWorkspace));
  entries.projects = TRY(documents(session, DocumentKind::kProject));
  // In front of all others, as it is the oldest.
  entries.workspaces.insert(entries.workspaces.begin(), first_entry(DocumentKind::kWorkspace));
  entries.projects.insert(entries.projects.begin(), first_entry(DocumentKind::kProject));
  return entries;
}

int list_workspaces(const Words& words) {
  CommandParser parser("Shows workspaces. What names none stands in Uncategorized.",
                       "muster workspace list");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster workspace list");
  Session session(console);
  const auto entries = all_entries(session);
  if (!entries.has_value()) return console.fail(entries.error());
  std::vector<Row> rows;
  for (const Document& one : entries->workspaces) {
    rows.push_back(
        {std::to_string(shown_id(one.kind, one.id)), one.name, one.user_name,
         std::to_string(std::ranges::count(entries->projects, one.id, &Document::parent)),
         one.is_archived ? "archived" : "open"});
  }
  print(table_text({"ID", "NAME", "USER", "PROJECTS", "STATE"}, rows));
  return 0;
}

int create_workspace(const Words& words) {
  Document workspace;
  workspace.kind = DocumentKind::kWorkspace;
  workspace.body = "{}";
  CommandParser parser("Makes a workspace, which will have projects.", "muster workspace create");
  parser.add_option("NAME", workspace.name, "no other workspace has it").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster workspace create");
  Session session(console);
  const auto reply = done(session, StoreDocument{workspace});
  if (!reply.has_value()) return console.fail(reply.error());
  print(fmt::format("Created workspace {}\n", workspace.name));
  return 0;
}

int delete_workspace(const Words& words) {
  std::string name;
  CommandParser parser("Deletes a workspace that has no projects.", "muster workspace delete");
  parser.add_option("WORKSPACE", name, "its name or number").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster workspace delete");
  Session session(console);
  return delete_found(console, session, workspace_of(session, name));
}

int list_projects(const Words& words) {
  std::string workspace;
  CommandParser parser("Shows projects with their workspaces.", "muster project list");
  parser.add_option("WORKSPACE", workspace, "those of this one alone; its name or number");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project list");
  Session session(console);
  const auto entries = all_entries(session);
  if (!entries.has_value()) return console.fail(entries.error());
  // Looked up by name or number, as everywhere.
  const auto only =
      workspace.empty() ? Result<Document>(Document()) : workspace_of(session, workspace);
  if (!only.has_value()) return console.fail(only.error());
  std::vector<Row> rows;
  for (const Document& one : entries->projects) {
    const auto above = std::ranges::find(entries->workspaces, one.parent, &Document::id);
    // Without a workspace all are meant.
    if (!workspace.empty() && one.parent != only->id) continue;
    rows.push_back({std::to_string(shown_id(one.kind, one.id)), one.name,
                    above == entries->workspaces.end() ? "" : above->name, one.user_name,
                    one.is_archived ? "archived" : "open"});
  }
  print(table_text({"ID", "NAME", "WORKSPACE", "USER", "STATE"}, rows));
  return 0;
}

int create_project(const Words& words) {
  std::string name;
  std::string description;
  Document project;
  project.kind = DocumentKind::kProject;
  CommandParser parser(
      "Makes a project, in which experiments may stand: workspace and project in their files.",
      "muster project create");
  parser.add_option("WORKSPACE", name, "its name or number").required();
  parser.add_option("NAME", project.name, "no other project of the workspace has it").required();
  parser.add_option("--description", description, "for people");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project create");
  Session session(console);
  const auto workspace = workspace_of(session, name);
  if (!workspace.has_value()) return console.fail(workspace.error());
  // Uncategorized has its one project, which stands for no name at all.
  if (workspace->id == 0)
    return console.fail({ErrorCode::kFailedPrecondition,
                         fmt::format("the workspace {} takes no projects", kUncategorized),
                         "create a workspace"});
  project.parent = workspace->id;
  project.body = json_text(Json(Json::Object{{"description", description}}));
  const auto reply = done(session, StoreDocument{project});
  if (!reply.has_value()) return console.fail(reply.error());
  print(fmt::format("Created project {} in workspace {}\n", project.name, workspace->name));
  return 0;
}

/// WORKSPACE PROJECT, as words of a command.
Result<Document> project_of(Session& session, const std::string& workspace_name,
                            const std::string& name) {
  const Document workspace = TRY(workspace_of(session, workspace_name));
  // Only within the first workspace: any project may be called so elsewhere.
  if (workspace.id == 0 && is_first(name)) return first_entry(DocumentKind::kProject);
  if (workspace.id == 0)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no project {} in {}", name, kUncategorized),
                fmt::format("see {}", kProjects));
  return find_document(session, DocumentKind::kProject, workspace.id, name, kProjects);
}

/// The words by which commands name a project.
struct ProjectWords {
  std::string workspace;
  std::string name;
  void add_to(CommandParser& parser) {
    parser.add_option("WORKSPACE", workspace, "its name or number; see muster workspace list")
        .required();
    parser.add_option("PROJECT", name, "its name or number; see muster project list").required();
  }
  Result<Document> find(Session& session) const { return project_of(session, workspace, name); }
};

int delete_project(const Words& words) {
  ProjectWords project_words;
  CommandParser parser("Deletes a project. What stood in it stands in Uncategorized from now on.",
                       "muster project delete");
  project_words.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project delete");
  Session session(console);
  return delete_found(console, session, project_words.find(session));
}

Error first_stays() {
  return Error{ErrorCode::kFailedPrecondition, fmt::format("{} cannot be changed", kUncategorized),
               ""};
}

/// A place as it is, and what is to be of it. Errors are said.
int store_changed(const Console& console, Session& session, Result<Document> place,
                  const std::function<void(Document&)>& change) {
  if (!place.has_value()) return console.fail(place.error());
  // It is no document that could be stored.
  if (place->id == 0) return console.fail(first_stays());
  change(*place);
  const auto reply = done(session, StoreDocument{*place});
  return reply.has_value() ? 0 : console.fail(reply.error());
}

int archive_workspace(const Words& words, bool is_archived) {
  std::string name;
  const Console console(fmt::format("muster workspace {}", is_archived ? "archive" : "unarchive"));
  CommandParser parser(is_archived
                           ? "A workspace takes experiments no more; those that stand in it go on."
                           : "A workspace takes experiments again.",
                       console.command());
  parser.add_option("WORKSPACE", name, "its name or number").required();
  if (const auto code = parser.parse(words)) return *code;
  Session session(console);
  return store_changed(console, session, workspace_of(session, name),
                       [=](Document& place) { place.is_archived = is_archived; });
}

int edit_workspace(const Words& words) {
  std::string name;
  std::string new_name;
  CommandParser parser("Calls a workspace otherwise; what stands in it follows.",
                       "muster workspace edit");
  parser.add_option("WORKSPACE", name, "its name or number").required();
  parser.add_option("--name", new_name, "what it is called from now on").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster workspace edit");
  Session session(console);
  return store_changed(console, session, workspace_of(session, name),
                       [&](Document& place) { place.name = new_name; });
}

int archive_project(const Words& words, bool is_archived) {
  ProjectWords project_words;
  const Console console(fmt::format("muster project {}", is_archived ? "archive" : "unarchive"));
  CommandParser parser(is_archived
                           ? "A project takes experiments no more; those that stand in it go on."
                           : "A project takes experiments again.",
                       console.command());
  project_words.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  Session session(console);
  return store_changed(console, session, project_words.find(session),
                       [=](Document& place) { place.is_archived = is_archived; });
}

int edit_project(const Words& words) {
  ProjectWords project_words;
  std::optional<std::string> new_name;
  std::optional<std::string> description;
  std::vector<std::string> notes;
  CommandParser parser(
      "Calls a project otherwise, describes it, or sets its notes; what stands in it follows.",
      "muster project edit");
  project_words.add_to(parser);
  parser.add_option("--name", new_name, "what it is called from now on");
  parser.add_option("--description", description, "for people");
  parser.add_option("--note", notes, "NAME TEXT: a page behind those that are there").expects(2);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project edit");
  Session session(console);
  return store_changed(console, session, project_words.find(session), [&](Document& place) {
    if (new_name) place.name = *new_name;
    auto read = parse_json(place.body);
    Json body =
        read.has_value() && read->object() != nullptr ? std::move(*read) : Json(Json::Object{});
    if (description) body.member("description") = *description;
    if (!notes.empty()) {
      // Behind those that are there: pages are only ever added here.
      Json::Array pages = items_of(body, "notes");
      pages.emplace_back(Json::Object{{"name", notes[0]}, {"contents", notes[1]}});
      body.member("notes") = std::move(pages);
    }
    place.body = json_text(body);
  });
}

int describe_project(const Words& words) {
  ProjectWords project_words;
  CommandParser parser("Shows a project with its notes.", "muster project describe");
  project_words.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project describe");
  Session session(console);
  const auto project = project_words.find(session);
  if (!project.has_value()) return console.fail(project.error());
  const auto body = parse_json(project->body);
  print(fmt::format("Project {}: {}, of {}{}\n  Description: {}\n",
                    shown_id(project->kind, project->id), project->name, project->user_name,
                    project->is_archived ? ", archived" : "",
                    body.has_value() ? text_of(*body, "description") : ""));
  for (const Json& page : body.has_value() ? items_of(*body, "notes") : std::vector<Json>()) {
    print(fmt::format("\n{}\n{}\n", text_of(page, "name"), text_of(page, "contents")));
  }
  return 0;
}

int list_experiments(const Words& words) {
  ProjectWords project_words;
  CommandParser parser("Shows the experiments of a project, archived ones too.",
                       "muster project list-experiments");
  project_words.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster project list-experiments");
  Session session(console);
  // Experiments carry the names of both, as a project's name is only one within its workspace.
  const auto above = workspace_of(session, project_words.workspace);
  if (!above.has_value()) return console.fail(above.error());
  const auto project = project_words.find(session);
  if (!project.has_value()) return console.fail(project.error());
  Query query;
  query.kind = QueryKind::kExperiments;
  // All of the cluster's: the controller has no filter by project.
  auto page = session.query(query);
  if (!page.has_value()) return console.fail(page.error());
  std::erase_if(page->experiments, [&](const ExperimentView& one) {
    if (project->id == 0)
      return !is_first_or_none(one.labels.workspace) || !is_first_or_none(one.labels.project);
    return one.labels.workspace != above->name || one.labels.project != project->name;
  });
  print(experiment_table(page->experiments, show_context(session.cluster().cluster_name)));
  return 0;
}

constexpr std::array kWorkspaceVerbs{
    CommandRow{"create", create_workspace, "make one"},
    CommandRow{"list|ls", list_workspaces, "show all"},
    CommandRow{"edit", edit_workspace, "call one otherwise"},
    CommandRow{"archive", [](const Words& words) { return archive_workspace(words, true); },
               "let it take no more"},
    CommandRow{"unarchive", [](const Words& words) { return archive_workspace(words, false); },
               "let it take experiments again"},
    CommandRow{"delete", delete_workspace, "delete one without projects"}};
constexpr std::array kProjectVerbs{
    CommandRow{"create", create_project, "make one"},
    CommandRow{"list|ls", list_projects, "show all, or those of a workspace"},
    CommandRow{"describe", describe_project, "show one with its notes"},
    CommandRow{"list-experiments", list_experiments, "show what stands in one"},
    CommandRow{"edit", edit_project, "call one otherwise, describe it, add notes"},
    CommandRow{"archive", [](const Words& words) { return archive_project(words, true); },
               "let it take no more"},
    CommandRow{"unarchive", [](const Words& words) { return archive_project(words, false); },
               "let it take experiments again"},
    CommandRow{"delete", delete_project, "delete one; its experiments stay"}};

}  // namespace

int run_workspace(const Words& words) {
  return run_verb("muster workspace", kWorkspaceVerbs, words);
}
int run_project(const Words& words) { return run_verb("muster project", kProjectVerbs, words); }

int run_experiment_move(const Words& words) {
  std::uint32_t number = 0;
  ProjectWords project_words;
  CommandParser parser("Moves an experiment to a project.", "muster experiment move");
  parser.add_option("EXPERIMENT", number, "its number").required();
  project_words.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment move");
  Session session(console);
  const auto project = project_words.find(session);
  if (!project.has_value()) return console.fail(project.error());
  const auto above = workspace_of(session, project_words.workspace);
  if (!above.has_value()) return console.fail(above.error());
  UpdateExperiment update;
  update.experiment = ExperimentId(number);
  // Empty names mean the first workspace and its project.
  update.workspace = above->id == 0 ? "" : above->name;
  update.project = project->id == 0 ? "" : project->name;
  const auto reply = done(session, update);
  return reply.has_value() ? 0 : console.fail(reply.error());
}

}  // namespace muster::cli
