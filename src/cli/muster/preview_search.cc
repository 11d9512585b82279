// muster preview-search FILE: what the search of an experiment file will do.
#include <fmt/format.h>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/muster/experiment_file.h"
#include "cli/muster/search_preview.h"
#include "trials/hyperparameter_form.h"

namespace muster::cli {
namespace {

struct Preview {
  ExperimentFile file;
  std::uint64_t seed = 0;
};

int show(const Console& console, const Preview& options) {
  const auto document = options.file.read();
  if (!document.has_value()) return console.fail(document.error());
  // Only these two sections are read: a preview needs no entrypoint.
  FormContext context{document->lines, {}};
  FormReader top(context, &document->root, "");
  FormReader hyperparameters = top.section("hyperparameters");
  const HyperSpace space = read_hyperparameters(hyperparameters);
  SearcherSection searcher;
  std::string name;
  if (top.require("searcher", "the search method and its settings")) {
    FormReader section = top.section("searcher");
    section.text("name", name);
    searcher = read_searcher(section, space, hyperparameters);
  }
  for (const FormProblem& problem : context.problems)
    console.error(fmt::format("{}: {}", options.file.path, problem.text()));
  if (!context.problems.empty()) return 1;
  print(preview_text(searcher, space, name, options.seed));
  return 0;
}

}  // namespace

int run_preview_search(const Words& words) {
  Preview options;
  CommandParser parser(
      "How many trials the search of an experiment file has, and how far they train.",
      "muster preview-search");
  options.file.add_to(parser);
  // Which trials survive a rung depends on it, how many do not.
  parser.add_option("--seed", options.seed, "of the trials' imagined results (0)");
  if (const auto code = parser.parse(words)) return *code;
  return show(Console("muster preview-search"), options);
}

}  // namespace muster::cli
