// muster template VERB: layers of experiments' configurations, by name, for all users.
#include <fmt/format.h>

#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/text_file.h"
#include "cli/lib/text_table.h"
#include "cli/muster/catalog.h"
#include "text/json_text.h"
#include "text/yaml_text.h"

namespace muster::cli {
namespace {

constexpr std::string_view kTemplates = "muster template list";

int run_set(const Words& words) {
  std::string path;
  Document document;
  document.kind = DocumentKind::kTemplate;
  CommandParser parser("Stores a template, or another text for one that is there.",
                       "muster template set");
  parser.add_option("NAME", document.name, "no other template has it").required();
  parser.add_option("FILE", path, "fields of an experiment's file, as YAML").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster template set");
  const auto text = read_file(path);
  if (!text.has_value()) return console.fail(text.error());
  // Read here, for a mistake with its line; the controller gets JSON.
  const auto parsed = parse_yaml(*text);
  if (!parsed.has_value()) return console.fail(parsed.error());
  if (parsed->root.object() == nullptr)
    return console.fail({ErrorCode::kInvalidArgument, fmt::format("{}: it is not a map", path),
                         "give fields such as max_restarts: 3"});
  document.body = json_text(parsed->root);
  Session session(console);
  const auto known = documents(session, DocumentKind::kTemplate);
  if (!known.has_value()) return console.fail(known.error());
  // The id of the one that has the name: it is replaced. 0 makes a new one.
  for (const Document& one : *known) document.id = one.name == document.name ? one.id : document.id;
  const auto reply = done(session, StoreDocument{document});
  return reply.has_value() ? 0 : console.fail(reply.error());
}

int run_list(const Words& words) {
  CommandParser parser("Shows templates.", "muster template list");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster template list");
  Session session(console);
  const auto known = documents(session, DocumentKind::kTemplate);
  if (!known.has_value()) return console.fail(known.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  std::vector<Row> rows;
  for (const Document& one : *known)
    rows.push_back({one.name, one.user_name, context.time(one.change_time, "-")});
  print(table_text({"NAME", "USER", "CHANGED"}, rows));
  return 0;
}

int run_describe(const Words& words) {
  std::string name;
  CommandParser parser("Prints a template, as JSON.", "muster template describe");
  parser.add_option("NAME", name, "see muster template list").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster template describe");
  Session session(console);
  const auto found = find_document(session, DocumentKind::kTemplate, 0, name, kTemplates);
  if (!found.has_value()) return console.fail(found.error());
  print(found->body + "\n");
  return 0;
}

int run_delete(const Words& words) {
  std::string name;
  CommandParser parser("Deletes a template; experiments that were made with it keep what it said.",
                       "muster template delete");
  parser.add_option("NAME", name, "see muster template list").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster template delete");
  Session session(console);
  return delete_found(console, session,
                      find_document(session, DocumentKind::kTemplate, 0, name, kTemplates));
}

constexpr std::array kVerbs{CommandRow{"set", run_set, "store one"},
                            CommandRow{"list|ls", run_list, "show all"},
                            CommandRow{"describe", run_describe, "print one"},
                            CommandRow{"delete|remove|rm", run_delete, "delete one"}};

}  // namespace

int run_template(const Words& words) { return run_verb("muster template", kVerbs, words); }

}  // namespace muster::cli
