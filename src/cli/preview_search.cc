// muster preview-search FILE: what the search of an experiment file will do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/experiment_file.h"
#include "cli/search_preview.h"
#include "codec/hyperparameter_form.h"

namespace muster::cli {
namespace {

struct Preview {
  ExperimentFile file;
  std::uint64_t seed = 0;
};

int show(const Console& console, const Preview& options) {
  const auto document = options.file.read();
  if (!document.has_value()) return console.fail(document.error());
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
  for (const FormProblem& problem : context.problems) console.error(fmt::format("{}: {}", options.file.path, problem.text()));
  if (!context.problems.empty()) return 1;
  print(preview_text(searcher, space, name, options.seed));
  return 0;
}

}  // namespace

int run_preview_search(const Words& words) {
  Preview options;
  CLI::App app("How many trials the search of an experiment file has, and how far they train.", "muster preview-search");
  options.file.add_to(app);
  app.add_option("--seed", options.seed, "of the trials' imagined results (0)");
  if (const auto code = parse_words(app, words)) return *code;
  return show(Console("muster preview-search"), options);
}

}  // namespace muster::cli
