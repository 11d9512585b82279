// muster import: another cluster's history, by the Python package, which reads and sends it.
#include <fmt/format.h>

#include "cli/lib/commands.h"
#include "cli/lib/http_access.h"
#include "cli/lib/python_package.h"
#include "cli/lib/submitting_process.h"
#include "slurm/environment_text.h"

namespace muster::cli {
namespace {

constexpr Duration kTokenLife = Duration::hours(24 * 30);  // histories are long

/// What `muster env` would set, where it is not set.
Status add_controller(const Console& console, Environment& variables) {
  // Whoever has set them means another controller, perhaps on another machine.
  if (get_variable(variables, "DET_MASTER") && get_variable(variables, "DET_USER_TOKEN")) return {};
  Session session(console);
  const HttpAccess access = TRY(find_http(session, kTokenLife));
  set_variable(variables, "DET_MASTER", access.master);
  set_variable(variables, "DET_USER_TOKEN", access.token);
  return {};
}

bool needs_controller(const Words& words) {
  for (const std::string& word : words) {
    // Without a controller to send to, or with another to send to.
    if (word == "--help" || word == "-h" || word == "--dry-run" || word.starts_with("--out") ||
        word.starts_with("--to"))
      return false;
  }
  return !words.empty();
}

}  // namespace

int run_import(const Words& words) {
  const Console console("muster import");
  Environment variables = submitting_process({"muster", "import"}).environment;
  if (needs_controller(words)) {
    if (const Status found = add_controller(console, variables); !found.has_value())
      return console.fail(found.error());
  }
  return run_package(console, "muster.moving", words, variables);
}

}  // namespace muster::cli
