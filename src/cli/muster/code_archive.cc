// Code travels as tar makes it, since tar(1) knows every kind of file, and as bytes that depend on
// the contents alone.

#include "cli/muster/code_archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "env/posix/process_runner.h"
#include "text/launch_size.h"

extern char** environ;

namespace muster::cli {
namespace {

Result<std::string> read_all(int fd) {
  std::string bytes;
  char buffer[1 << 16];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return fail(ErrorCode::kUnavailable, "cannot read from tar", std::strerror(errno));
    bytes.append(buffer, static_cast<std::size_t>(count));
    // Looked at as it grows: a folder of data is refused after its first megabytes, not its last.
    TRY(check_code_size(bytes.size()));
  }
  return bytes;
}

}  // namespace

Result<std::string> archive_code(const std::string& folder) {
  struct stat known {};
  if (::stat(folder.c_str(), &known) != 0)
    return fail(ErrorCode::kNotFound, "cannot read " + folder, std::strerror(errno));
  if (!S_ISDIR(known.st_mode))
    return fail(ErrorCode::kInvalidArgument, folder + " is not a folder",
                "give the folder that the code is in");
  // Close-on-exec: tar gets its end as standard output alone.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, "pipe", std::strerror(errno));
  ProcessSpec spec;
  spec.arguments = {"tar", "-C", folder,
                    // Sorted, with no times and owners: equal code makes equal bytes, which are
                    // stored once.
                    "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner",
                    // What is no code: version control, compiled files, and what earlier trials
                    // have written.
                    "--exclude-vcs", "--exclude=__pycache__", "--exclude=./muster-runs",
                    // Determined's file of patterns, which holds for the folders below as well.
                    "--exclude-ignore-recursive=.detignore", "-czf", "-", "."};
  for (char** variable = environ; *variable != nullptr; ++variable)
    spec.environment.emplace_back(*variable);
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  spec.standard_out = ends[1];
  spec.standard_error = STDERR_FILENO;
  spec.is_own_session = false;
  const auto pid = start_process(spec);
  // Else the pipe would never end.
  ::close(ends[1]);
  auto bytes = pid.has_value() ? read_all(ends[0]) : Result<std::string>(fail(pid.error()));
  if (pid.has_value() && !bytes.has_value())
    ::kill(*pid, SIGKILL);  // or tar complains of the pipe that nobody reads any more
  ::close(ends[0]);
  if (!pid.has_value()) return bytes;
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (bytes.has_value() && status != 0)
    return fail(ErrorCode::kInvalidArgument, "tar could not archive " + folder,
                "it says why above");
  return bytes;
}

}  // namespace muster::cli
