// muster checkpoint download: the files of a checkpoint, through the controller, unpacked as they come.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/http_call.h"
#include "cli/session.h"
#include "env/posix/process_runner.h"

extern char** environ;

namespace muster::cli {
namespace {

constexpr int kTokenDays = 1;

/// tar, which unpacks into a folder what it is given.
class Unpacker {
 public:
  ~Unpacker() { finish(); }

  Status start(const std::string& folder) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::kUnavailable, "pipe", std::strerror(errno));
    ProcessSpec spec;
    spec.arguments = {"tar", "-C", folder, "--no-same-owner", "-xf", "-"};
    for (char** variable = environ; *variable != nullptr; ++variable) spec.environment.emplace_back(*variable);
    spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
    spec.umask = ::umask(022);
    ::umask(static_cast<mode_t>(spec.umask));
    spec.standard_in = ends[0];
    spec.standard_out = STDERR_FILENO;
    spec.standard_error = STDERR_FILENO;
    spec.is_own_session = false;
    const auto pid = start_process(spec);
    ::close(ends[0]);
    in_ = ends[1];
    if (!pid.has_value()) return fail(pid.error());
    pid_ = *pid;
    return {};
  }

  Status write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(in_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(ErrorCode::kUnavailable, "tar could not unpack the files", "it says why above");
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  /// True: all of it was unpacked.
  bool finish() {
    if (in_ >= 0) ::close(std::exchange(in_, -1));
    int status = -1;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status == 0;
  }

 private:
  int in_ = -1;
  pid_t pid_ = -1;
};

/// A folder that is new or empty: files of two checkpoints do not mix.
Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kUnavailable, "cannot make the folder " + folder, error.message());
  const bool is_empty = std::filesystem::is_empty(folder, error);
  if (error) return fail(ErrorCode::kUnavailable, "cannot read the folder " + folder, error.message());
  if (!is_empty) return fail(ErrorCode::kAlreadyExists, folder + " is not empty", "give another folder with --output");
  return {};
}

Status download(const Console& console, const std::string& uuid, const std::string& folder) {
  Session session(console);
  const HttpAccess access = TRY(find_http(session, kTokenDays));
  TRY(make_folder(folder));
  Unpacker unpacker;
  HttpCall call{"GET", "/checkpoints/" + uuid};
  call.accept = "application/x-tar";
  // tar is started by the first bytes, when there is something to unpack.
  bool is_started = false;
  const Status done = stream_http(session, access, call, [&](std::string_view bytes) -> Status {
    if (!std::exchange(is_started, true)) TRY(unpacker.start(folder));
    return unpacker.write(bytes);
  });
  if (!done.has_value() && is_started) {
    return fail(done.error().code, fmt::format("what is in {} is not whole", folder), done.error().text());
  }
  TRY(done);
  if (!unpacker.finish()) return fail(ErrorCode::kUnavailable, "tar could not unpack the files", "it says why above");
  return {};
}

}  // namespace

int run_checkpoint_download(const Words& words) {
  std::string uuid;
  std::string folder;
  CLI::App app("Downloads the files of a checkpoint through the controller: a job of their owner's reads them where they lie.", "muster checkpoint download");
  app.add_option("UUID", uuid, "its own")->required();
  app.add_option("-o,--output", folder, "into this folder; checkpoints/UUID if not given");
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster checkpoint download");
  if (folder.empty()) folder = "checkpoints/" + uuid;
  ::signal(SIGPIPE, SIG_IGN);  // tar's end is told by its status
  const Status done = download(console, uuid, folder);
  if (!done.has_value()) {
    std::error_code ignored;
    std::filesystem::remove(folder, ignored);  // if it is empty
    return console.fail(done.error());
  }
  print(folder + "\n");
  return 0;
}

}  // namespace muster::cli
