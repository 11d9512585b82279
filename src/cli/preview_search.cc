// muster preview-search FILE: what the search of an experiment file will do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/search_preview.h"
#include "cli/text_file.h"
#include "codec/config_override.h"
#include "codec/hyperparameter_form.h"

namespace muster::cli {
namespace {

struct Preview {
  std::string file;
  std::vector<std::string> overrides;
  std::uint64_t seed = 0;
};

Result<YamlDocument> read_config(const Preview& options) {
  const std::string text = TRY(read_file(options.file));
  auto document = parse_yaml(text);
  if (!document.has_value()) return fail(document.error().code, fmt::format("{}: {}", options.file, document.error().message));
  for (const std::string& override_text : options.overrides) TRY(apply_override(document->root, override_text));
  return document;
}

int show(const Console& console, const Preview& options) {
  const auto document = read_config(options);
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
  for (const FormProblem& problem : context.problems) console.error(fmt::format("{}: {}", options.file, problem.text()));
  if (!context.problems.empty()) return 1;
  print(preview_text(searcher, space, name, options.seed));
  return 0;
}

}  // namespace

int run_preview_search(const Words& words) {
  Preview options;
  CLI::App app("How many trials the search of an experiment file has, and how far they train.", "muster preview-search");
  app.add_option("FILE", options.file, "the experiment's file; - reads standard input")->required();
  app.add_option("--config", options.overrides, "NAME.NAME=VALUE: set one value; may be repeated")->allow_extra_args(false);
  app.add_option("--seed", options.seed, "of the trials' imagined results (0)");
  if (const auto code = parse_words(app, words)) return *code;
  return show(Console("muster preview-search"), options);
}

}  // namespace muster::cli
