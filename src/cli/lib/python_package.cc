#include "cli/lib/python_package.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "env/posix/process_runner.h"

namespace muster::cli {
namespace {

constexpr int kNoModule = 1;

/// `is_quiet`: what it has to say is of no interest.
Result<int> run_python(const Words& arguments, const Environment& variables, bool is_quiet) {
  ProcessSpec process;
  // MUSTER_PYTHON may name the interpreter of a virtual environment.
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
  // In the caller's session: Ctrl-C reaches it, and it may read the terminal.
  process.is_own_session = false;
  const pid_t pid = TRY(start_process(process));
  std::signal(SIGINT, SIG_IGN);  // it says itself where it was broken off
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorCode::kInternal, "the Python process is gone", "");
  }
  // As a shell reports a death by signal.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_package(const Console& console, const std::string& module, const Words& words,
                const Environment& variables) {
  // An import is tried first, so that a missing package is told from a failure of the command.
  const auto probe = run_python({"-c", "import " + module}, variables, true);
  if (!probe.has_value()) return console.fail(probe.error());
  if (*probe == kNoModule) {
    return console.fail({ErrorCode::kFailedPrecondition,
                         "the Python package muster is not installed for python3",
                         "in Muster's sources: python3 -m venv --system-site-packages DIR && "
                         "DIR/bin/pip install ./python; and name its "
                         "interpreter: MUSTER_PYTHON=DIR/bin/python3"});
  }
  Words arguments{"-m", module};
  arguments.insert(arguments.end(), words.begin(), words.end());
  if (words.empty()) arguments.emplace_back("--help");
  const auto code = run_python(arguments, variables, false);
  return code.has_value() ? *code : console.fail(code.error());
}

}  // namespace muster::cli
