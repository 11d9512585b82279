// tar(1) at the end of a pipe. Its status alone says whether all files are there.

#include "cli/muster/unpacker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "env/posix/process_runner.h"
#include "env/posix/write_whole.h"

extern char** environ;

namespace muster::cli {

Status Unpacker::start(const std::string& folder, bool is_compressed) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, "pipe", std::strerror(errno));
  ProcessSpec spec;
  // Files become the caller's, whoever saved them.
  spec.arguments = {"tar", "-C", folder, "--no-same-owner", is_compressed ? "-xzf" : "-xf", "-"};
  for (char** variable = environ; *variable != nullptr; ++variable)
    spec.environment.emplace_back(*variable);
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  // The mask can only be read by setting it.
  spec.umask = ::umask(022);
  ::umask(static_cast<mode_t>(spec.umask));
  spec.standard_in = ends[0];
  // What tar says must not mix with the folder's name on standard output.
  spec.standard_out = STDERR_FILENO;
  spec.standard_error = STDERR_FILENO;
  spec.is_own_session = false;
  const auto pid = start_process(spec);
  // Else tar's end of the pipe would stay open here, and its death unseen.
  ::close(ends[0]);
  in_ = ends[1];
  if (!pid.has_value()) return fail(pid.error());
  pid_ = *pid;
  return {};
}

Status Unpacker::write(std::string_view bytes) {
  // EPIPE: tar has ended and has said why.
  if (write_whole(in_, bytes) == 0) return {};
  return fail(ErrorCode::kUnavailable, "tar could not unpack the files", "it says why above");
}

bool Unpacker::finish() {
  if (in_ >= 0) ::close(std::exchange(in_, -1));
  int status = -1;
  if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
  return status == 0;
}

Status make_empty_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot make the folder " + folder, error.message());
  const bool is_empty = std::filesystem::is_empty(folder, error);
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot read the folder " + folder, error.message());
  // What is there could not be told from what was downloaded.
  if (!is_empty)
    return fail(ErrorCode::kAlreadyExists, folder + " is not empty",
                "give another folder with --output");
  return {};
}

}  // namespace muster::cli
