// muster model VERB: the model registry. A version names a checkpoint, which is then kept.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/text_table.h"
#include "cli/muster/catalog.h"
#include "text/json_text.h"

namespace muster::cli {
namespace {

Result<Document> find_model(Session& session, const std::string& name) {
  return find_document(session, DocumentKind::kModel, 0, name, "muster model list");
}

Result<std::vector<Document>> versions_of(Session& session, const Document& model) {
  std::vector<Document> all = TRY(documents(session, DocumentKind::kModelVersion));
  std::erase_if(all, [&](const Document& version) { return version.parent != model.id; });
  return all;
}

Result<Document> find_version(Session& session, const Document& model, std::uint32_t number) {
  for (Document& version : TRY(versions_of(session, model))) {
    if (version.number == number) return std::move(version);
  }
  return fail(ErrorCode::kNotFound, fmt::format("model {} has no version {}", model.name, number),
              "see muster model describe");
}

int run_create(const Words& words) {
  Document model;
  std::string description;
  CommandParser parser("Makes a model, which will have versions.", "muster model create");
  parser.add_option("NAME", model.name, "no other model has it").required();
  parser.add_option("--description", description, "for people");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster model create");
  model.body = json_text(Json(Json::Object{{"description", description}}));
  Session session(console);
  const auto reply = done(session, StoreDocument{std::move(model)});
  if (!reply.has_value()) return console.fail(reply.error());
  print(fmt::format("Created model {}\n", reply->document));
  return 0;
}

int run_list(const Words& words) {
  CommandParser parser("Shows models.", "muster model list");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster model list");
  Session session(console);
  const auto models = documents(session, DocumentKind::kModel);
  const auto versions = documents(session, DocumentKind::kModelVersion);
  if (!models.has_value()) return console.fail(models.error());
  if (!versions.has_value()) return console.fail(versions.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  std::vector<Row> rows;
  for (const Document& model : *models) {
    const auto count = std::ranges::count(*versions, model.id, &Document::parent);
    rows.push_back({std::to_string(model.id), model.name, model.user_name, std::to_string(count),
                    context.time(model.change_time, "-")});
  }
  print(table_text({"ID", "NAME", "USER", "VERSIONS", "CHANGED"}, rows));
  return 0;
}

int run_describe(const Words& words) {
  std::string name;
  CommandParser parser("Shows a model's versions.", "muster model describe");
  parser.add_option("MODEL", name, "its name or number").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster model describe");
  Session session(console);
  const auto model = find_model(session, name);
  if (!model.has_value()) return console.fail(model.error());
  const auto versions = versions_of(session, *model);
  if (!versions.has_value()) return console.fail(versions.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  print(fmt::format("Model {}: {}, of {}\n{}\n", model->id, model->name, model->user_name,
                    model->body));
  std::vector<Row> rows;
  // A version names one checkpoint.
  for (const Document& version : *versions) {
    rows.push_back({std::to_string(version.number), version.checkpoints.front(), version.user_name,
                    context.time(version.create_time, "-"), version.name});
  }
  print(table_text({"VERSION", "CHECKPOINT", "USER", "CREATED", "NAME"}, rows));
  return 0;
}

int run_register(const Words& words) {
  std::string name;
  Document version;
  version.kind = DocumentKind::kModelVersion;
  version.body = "{}";
  std::string uuid;
  CommandParser parser(
      "Names a checkpoint as a model's next version. It is kept as long as the version is there.",
      "muster model register");
  parser.add_option("MODEL", name, "its name or number").required();
  parser.add_option("UUID", uuid, "of the checkpoint").required();
  parser.add_option("--name", version.name, "of the version");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster model register");
  Session session(console);
  const auto model = find_model(session, name);
  if (!model.has_value()) return console.fail(model.error());
  version.parent = model->id;
  version.checkpoints = {uuid};
  const auto reply = done(session, StoreDocument{std::move(version)});
  if (!reply.has_value()) return console.fail(reply.error());
  // The reply has the document's id; the version's number is what users name it by.
  const auto versions = versions_of(session, *model);
  if (!versions.has_value()) return console.fail(versions.error());
  const auto made = std::ranges::find(*versions, reply->document, &Document::id);
  if (made != versions->end())
    print(fmt::format("Registered version {} of model {}\n", made->number, model->name));
  return 0;
}

int run_delete(const Words& words) {
  std::string name;
  std::optional<std::uint32_t> number;
  CommandParser parser("Deletes a model with its versions, or one of them; checkpoints stay.",
                       "muster model delete");
  parser.add_option("MODEL", name, "its name or number").required();
  parser.add_option("--version", number, "this one alone");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster model delete");
  Session session(console);
  const auto model = find_model(session, name);
  // Without a number the whole model is meant.
  if (!model.has_value() || !number) return delete_found(console, session, model);
  return delete_found(console, session, find_version(session, *model, *number));
}

constexpr std::array kVerbs{
    CommandRow{"create", run_create, "make one"}, CommandRow{"list|ls", run_list, "show all"},
    CommandRow{"describe|list-versions", run_describe, "show one with its versions"},
    CommandRow{"register|register-version", run_register, "name a checkpoint as the next version"},
    CommandRow{"delete", run_delete, "delete one; checkpoints stay"}};

}  // namespace

int run_model(const Words& words) { return run_verb("muster model", kVerbs, words); }

}  // namespace muster::cli
