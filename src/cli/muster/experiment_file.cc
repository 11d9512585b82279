// An experiment's file with template and overrides, as one document that still knows its lines: a
// problem is reported where its cause was written.

#include "cli/muster/experiment_file.h"

#include <fmt/format.h>

#include "cli/lib/command_parser.h"
#include "cli/lib/text_file.h"
#include "text/json_text.h"
#include "trials/config_layers.h"
#include "trials/config_override.h"
#include "trials/experiment_form.h"

namespace muster::cli {
namespace {

constexpr std::size_t kMost = std::size_t{16} << 20;

Result<YamlDocument> read_yaml(const std::string& path) {
  const std::string text = TRY(read_file(path, kMost));
  auto document = parse_yaml(text);
  if (!document.has_value())
    return fail(document.error().code, fmt::format("{}: {}", path, document.error().message));
  return document;
}

/// Who gives the name of a stored template learns how to make a file of it.
Error template_error(Error error, const std::string& path) {
  const bool is_name = path.find_first_of("./") == std::string::npos;
  if (error.code == ErrorCode::kNotFound && is_name) {
    error.detail += fmt::format(
        "; a stored template is made a file by: muster template describe {0} > {0}.yaml", path);
  }
  return error;
}

}  // namespace

std::vector<std::string> ExperimentFile::problems(const YamlDocument& document) const {
  // With the defaults merged in, as missing fields are problems only then.
  const ExperimentForm form =
      read_experiment(merge_layers(document.root, experiment_defaults()), document.lines);
  std::vector<std::string> lines;
  // What has no line may stand in the template.
  const std::string both =
      template_path.empty() ? path : fmt::format("{} over {}", path, template_path);
  for (const FormProblem& problem : form.problems)
    lines.push_back(fmt::format("{}: {}", problem.line == 0 ? both : path, problem.text()));
  // Before it is sent: the controller's refusal would name no file.
  if (const Status sized = check_config_size(json_text(document.root)); !sized.has_value())
    lines.push_back(fmt::format("{}: {}", path, sized.error().detail));
  return lines;
}

std::vector<std::string> ExperimentFile::warnings(const YamlDocument& document) const {
  const ExperimentForm form =
      read_experiment(merge_layers(document.root, experiment_defaults()), document.lines);
  std::vector<std::string> lines;
  for (const FormProblem& warning : form.warnings)
    lines.push_back(fmt::format("{}: {}", path, warning.text()));
  return lines;
}

Result<std::string> ExperimentFile::text() const { return read_file(path, kMost); }

void ExperimentFile::add_to(CommandParser& parser) {
  parser.add_option("FILE", path, "the experiment's file; - reads standard input").required();
  parser.add_option("--template", template_path,
                    "a file whose values hold where FILE says nothing");
  parser.add_option("--config", overrides, "NAME.NAME=VALUE: set one value; may be repeated")
      .one_value_each();
}

Result<YamlDocument> ExperimentFile::read() const {
  YamlDocument document = TRY(read_yaml(path));
  for (const std::string& override_text : overrides) {
    TRY(apply_override(document.root, override_text));
    const std::string path_set = override_text.substr(0, override_text.find('='));
    // A value from the command line has no line in the file.
    std::erase_if(document.lines, [&](const auto& line) {
      return line.first == path_set || line.first.starts_with(path_set + ".");
    });
  }
  if (template_path.empty()) return document;
  auto under = read_yaml(template_path);
  if (!under.has_value()) return fail(template_error(under.error(), template_path));
  // The file over the template.
  document.root = merge_layers(document.root, under->root);
  return document;
}

}  // namespace muster::cli
