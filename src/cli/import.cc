// muster import: another cluster's history, by the Python package, which reads and sends it.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/http_access.h"
#include "cli/job_request.h"
#include "codec/environment_text.h"
#include "env/posix/process_runner.h"

namespace muster::cli {
namespace {

constexpr int kTokenDays = 30;  // histories are long
constexpr int kNoModule = 1;

/// What `muster env` would set, where it is not set.
Status add_controller(const Console& console, Environment& variables) {
  if (get_variable(variables, "DET_MASTER") && get_variable(variables, "DET_USER_TOKEN")) return {};
  Session session(console);
  const HttpAccess access = TRY(find_http(session, kTokenDays));
  set_variable(variables, "DET_MASTER", access.master);
  set_variable(variables, "DET_USER_TOKEN", access.token);
  return {};
}

/// `is_quiet`: what it has to say is of no interest.
Result<int> run_python(const Words& arguments, const Environment& variables, bool is_quiet) {
  ProcessSpec process;
  const char* python = std::getenv("MUSTER_PYTHON");
  process.arguments = {python == nullptr || *python == '\0' ? "python3" : python};
  process.arguments.insert(process.arguments.end(), arguments.begin(), arguments.end());
  process.environment = variables;
  char folder[4096];
  process.work_dir = ::getcwd(folder, sizeof folder) != nullptr ? folder : "/";
  process.user = ProcessUser{::getuid(), ::getgid(), ""};
  process.standard_in = 0;
  process.standard_out = 1;
  process.standard_error = is_quiet ? -1 : 2;
  process.is_own_session = false;
  const pid_t pid = TRY(start_process(process));
  std::signal(SIGINT, SIG_IGN);  // it says itself where it was broken off
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorCode::kInternal, "the importer is gone", "");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool needs_controller(const Words& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h" || word == "--dry-run" || word.starts_with("--out") || word.starts_with("--to")) return false;
  }
  return !words.empty();
}

}  // namespace

int run_import(const Words& words) {
  const Console console("muster import");
  Environment variables = submit_scene({"muster", "import"}).environment;
  if (needs_controller(words)) {
    if (const Status found = add_controller(console, variables); !found.has_value()) return console.fail(found.error());
  }
  const auto probe = run_python({"-c", "import muster.moving"}, variables, true);
  if (!probe.has_value()) return console.fail(probe.error());
  if (*probe == kNoModule) {
    return console.fail({ErrorCode::kFailedPrecondition, "the Python package muster is not installed for python3",
                         "pip install ./python from Muster's sources, or name another interpreter in MUSTER_PYTHON"});
  }
  Words arguments{"-m", "muster.moving"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  if (words.empty()) arguments.emplace_back("--help");
  const auto code = run_python(arguments, variables, false);
  return code.has_value() ? *code : console.fail(code.error());
}

}  // namespace muster::cli
