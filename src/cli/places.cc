// muster workspace VERB, muster project VERB: where experiments stand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/catalog.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/experiment_tables.h"
#include "cli/local_zone.h"
#include "cli/text_table.h"
#include "codec/json_text.h"

namespace muster::cli {
namespace {

constexpr std::string_view kWorkspaces = "muster workspace list";
constexpr std::string_view kProjects = "muster project list";

Result<Document> workspace_of(Session& session, const std::string& name) {
  return find_document(session, DocumentKind::kWorkspace, 0, name, kWorkspaces);
}

struct Places {
  std::vector<Document> workspaces;
  std::vector<Document> projects;
};
Result<Places> all_places(Session& session) {
  Places places;
  places.workspaces = TRY(documents(session, DocumentKind::kWorkspace));
  places.projects = TRY(documents(session, DocumentKind::kProject));
  return places;
}

int list_workspaces(const Words& words) {
  CLI::App app("Shows workspaces. What names none stands in Uncategorized.", "muster workspace list");
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster workspace list");
  Session session(console);
  const auto places = all_places(session);
  if (!places.has_value()) return console.fail(places.error());
  std::vector<Row> rows;
  for (const Document& one : places->workspaces) {
    rows.push_back({std::to_string(shown_id(one.kind, one.id)), one.name, one.user_name, std::to_string(std::ranges::count(places->projects, one.id, &Document::parent))});
  }
  print(table_text({"ID", "NAME", "USER", "PROJECTS"}, rows));
  return 0;
}

int create_workspace(const Words& words) {
  Document workspace;
  workspace.kind = DocumentKind::kWorkspace;
  workspace.body = "{}";
  CLI::App app("Makes a workspace, which will have projects.", "muster workspace create");
  app.add_option("NAME", workspace.name, "no other workspace has it")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster workspace create");
  Session session(console);
  const auto reply = done(session, StoreDocument{workspace});
  if (!reply.has_value()) return console.fail(reply.error());
  print(fmt::format("Created workspace {}\n", workspace.name));
  return 0;
}

int delete_workspace(const Words& words) {
  std::string name;
  CLI::App app("Deletes a workspace that has no projects.", "muster workspace delete");
  app.add_option("WORKSPACE", name, "its name or number")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster workspace delete");
  Session session(console);
  return delete_found(console, session, workspace_of(session, name));
}

int list_projects(const Words& words) {
  std::string workspace;
  CLI::App app("Shows projects with their workspaces.", "muster project list");
  app.add_option("WORKSPACE", workspace, "those of this one alone; its name or number");
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster project list");
  Session session(console);
  const auto places = all_places(session);
  if (!places.has_value()) return console.fail(places.error());
  const auto only = workspace.empty() ? Result<Document>(Document()) : workspace_of(session, workspace);
  if (!only.has_value()) return console.fail(only.error());
  std::vector<Row> rows;
  for (const Document& one : places->projects) {
    const auto above = std::ranges::find(places->workspaces, one.parent, &Document::id);
    if (!workspace.empty() && one.parent != only->id) continue;
    rows.push_back({std::to_string(shown_id(one.kind, one.id)), one.name, above == places->workspaces.end() ? "" : above->name, one.user_name});
  }
  print(table_text({"ID", "NAME", "WORKSPACE", "USER"}, rows));
  return 0;
}

int create_project(const Words& words) {
  std::string name;
  std::string description;
  Document project;
  project.kind = DocumentKind::kProject;
  CLI::App app("Makes a project, in which experiments may stand: workspace and project in their files.", "muster project create");
  app.add_option("WORKSPACE", name, "its name or number")->required();
  app.add_option("NAME", project.name, "no other project of the workspace has it")->required();
  app.add_option("--description", description, "for people");
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster project create");
  Session session(console);
  const auto workspace = workspace_of(session, name);
  if (!workspace.has_value()) return console.fail(workspace.error());
  project.parent = workspace->id;
  project.body = json_text(Json(Json::Object{{"description", description}}));
  const auto reply = done(session, StoreDocument{project});
  if (!reply.has_value()) return console.fail(reply.error());
  print(fmt::format("Created project {} in workspace {}\n", project.name, workspace->name));
  return 0;
}

/// WORKSPACE PROJECT, as words of a command.
Result<Document> project_of(Session& session, const std::string& workspace_name, const std::string& name) {
  const Document workspace = TRY(workspace_of(session, workspace_name));
  return find_document(session, DocumentKind::kProject, workspace.id, name, kProjects);
}

int delete_project(const Words& words) {
  std::string workspace;
  std::string name;
  CLI::App app("Deletes a project. What stood in it stands in Uncategorized from now on.", "muster project delete");
  app.add_option("WORKSPACE", workspace, "its name or number")->required();
  app.add_option("PROJECT", name, "its name or number")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster project delete");
  Session session(console);
  return delete_found(console, session, project_of(session, workspace, name));
}

int list_experiments(const Words& words) {
  std::string workspace;
  std::string name;
  CLI::App app("Shows the experiments of a project, archived ones too.", "muster project list-experiments");
  app.add_option("WORKSPACE", workspace, "its name or number")->required();
  app.add_option("PROJECT", name, "its name or number")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster project list-experiments");
  Session session(console);
  const auto above = workspace_of(session, workspace);
  if (!above.has_value()) return console.fail(above.error());
  const auto project = find_document(session, DocumentKind::kProject, above->id, name, kProjects);
  if (!project.has_value()) return console.fail(project.error());
  Query query;
  query.kind = QueryKind::kExperiments;
  auto page = session.query(query);
  if (!page.has_value()) return console.fail(page.error());
  std::erase_if(page->experiments, [&](const ExperimentView& one) { return one.labels.workspace != above->name || one.labels.project != project->name; });
  print(experiment_table(page->experiments, show_context(session.cluster().cluster_name)));
  return 0;
}

constexpr std::array kWorkspaceVerbs{CommandRow{"create", create_workspace, "make one"}, CommandRow{"list|ls", list_workspaces, "show all"},
                                     CommandRow{"delete", delete_workspace, "delete one without projects"}};
constexpr std::array kProjectVerbs{CommandRow{"create", create_project, "make one"}, CommandRow{"list|ls", list_projects, "show all, or those of a workspace"},
                                   CommandRow{"list-experiments", list_experiments, "show what stands in one"},
                                   CommandRow{"delete", delete_project, "delete one; its experiments stay"}};

}  // namespace

int run_workspace(const Words& words) { return run_verb("muster workspace", kWorkspaceVerbs, words); }
int run_project(const Words& words) { return run_verb("muster project", kProjectVerbs, words); }

int run_experiment_move(const Words& words) {
  std::uint32_t number = 0;
  std::string workspace;
  std::string name;
  CLI::App app("Moves an experiment to a project.", "muster experiment move");
  app.add_option("EXPERIMENT", number, "its number")->required();
  app.add_option("WORKSPACE", workspace, "its name or number; see muster workspace list")->required();
  app.add_option("PROJECT", name, "its name or number; see muster project list")->required();
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster experiment move");
  Session session(console);
  const auto project = project_of(session, workspace, name);
  if (!project.has_value()) return console.fail(project.error());
  const auto above = workspace_of(session, workspace);
  if (!above.has_value()) return console.fail(above.error());
  UpdateExperiment update;
  update.experiment = ExperimentId(number);
  update.workspace = above->name;
  update.project = project->name;
  const auto reply = done(session, update);
  return reply.has_value() ? 0 : console.fail(reply.error());
}

}  // namespace muster::cli
