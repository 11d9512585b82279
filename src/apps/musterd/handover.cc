// A run executes itself anew, with the same process id, and leaves to the next what that must not
// lose: in its environment, as numbers of descriptors that live through execve.
#include "apps/musterd/handover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <kj/io.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "apps/musterd/log_line.h"
#include "env/posix/process_runner.h"
#include "env/posix/write_whole.h"
#include "text/words.h"
#include "wire/handed_sockets.h"

namespace muster::daemon {
namespace {

/// This process's id, which stays when it executes itself: what somebody has exported is no
/// handover.
constexpr const char* kGoesOn = "MUSTERD_GOES_ON";
constexpr const char* kClockBelieved = "MUSTERD_CLOCK_BELIEVED";
constexpr const char* kLeadBeyond = "MUSTERD_LEAD_BEYOND";
constexpr const char* kConf = "MUSTERD_CONF";        ///< the descriptor of a file without a name
constexpr const char* kSockets = "MUSTERD_SOCKETS";  ///< descriptors, parted by commas
constexpr useconds_t kReplyTravels = 200'000;        ///< for answers that are on their way

/// Of this process, for the next one.
struct Next {
  std::mutex mutex;
  char** arguments = nullptr;
  ConfTexts conf;
  std::vector<int> sockets;
};
Next& next() {
  static Next shared;
  return shared;
}

/// The variable's value, once.
std::string consume_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  // Taken out, so that no child sees it.
  ::unsetenv(name);
  return taken;
}

std::string read_descriptor(int fd) {
  std::string bytes;
  char buffer[65536];
  for (ssize_t got;
       (got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(bytes.size()))) > 0;)
    bytes.append(buffer, static_cast<std::size_t>(got));
  return bytes;
}

/// -1: there is no room for it, and the next run reads the files.
int write_conf(const ConfTexts& texts) {
  // Without MFD_CLOEXEC: it is to live through execve.
  const int fd = ::memfd_create("musterd configuration", 0);
  if (fd < 0) return -1;
  if (write_whole(fd, conf_texts_bytes(texts)) == 0) return fd;
  ::close(fd);
  return -1;
}

/// `name`, where given: a variable that the next run reads.
[[noreturn]] void start_again(const std::string& why, const char* name, const std::string& value) {
  log_line(why + ": starting again from what is stored");
  // Other threads go on meanwhile and send what is ready.
  ::usleep(kReplyTravels);
  // Held for good: the environment is nobody else's until it is handed over.
  const std::lock_guard lock(next().mutex);
  if (name != nullptr) ::setenv(name, value.c_str(), 1);
  ::setenv(kGoesOn, std::to_string(::getpid()).c_str(), 1);
  if (const int fd = next().conf.empty() ? -1 : write_conf(next().conf); fd >= 0)
    ::setenv(kConf, std::to_string(fd).c_str(), 1);
  for (const int socket : next().sockets) set_inheritable(socket, true);
  if (!next().sockets.empty())
    ::setenv(kSockets, fmt::format("{}", fmt::join(next().sockets, ",")).c_str(), 1);
  die(restart_self(next().arguments).text());
}

}  // namespace

Handover consume_handover(char** arguments) {
  next().arguments = arguments;
  Handover given;
  given.goes_on = consume_variable(kGoesOn) == std::to_string(::getpid());
  const std::string believed = consume_variable(kClockBelieved);
  const std::string beyond = consume_variable(kLeadBeyond);
  const auto conf = parse_whole32(consume_variable(kConf));
  const std::string sockets = consume_variable(kSockets);
  // Even then all variables have been taken: none may reach a child.
  if (!given.goes_on) return given;
  given.is_clock_believed = !believed.empty();
  given.lead_beyond = Epoch(std::strtoull(beyond.c_str(), nullptr, 10));
  if (conf) {
    const kj::AutoCloseFd file(static_cast<int>(*conf));
    given.conf = parse_conf_texts(read_descriptor(file));
  }
  if (given.conf.empty()) log_line("the run before left no configuration: it is read again");
  for (const std::string& word : split_list(sockets)) {
    const auto fd = parse_whole32(word);
    // -1 keeps the position, which is that of the address in the configuration.
    given.sockets.push_back(fd ? static_cast<int>(*fd) : -1);
  }
  return given;
}

void hand_over_conf(ConfTexts texts) {
  const std::lock_guard lock(next().mutex);
  next().conf = std::move(texts);
}

void hand_over_sockets(std::vector<int> sockets) {
  const std::lock_guard lock(next().mutex);
  next().sockets = std::move(sockets);
}

void stop_process(const std::string& why) { die(why + ": this controller ends"); }

void restart_process(const std::string& why) { start_again(why, nullptr, ""); }

void restart_for_clock(Duration jump) {
  start_again(fmt::format("the wall clock has stood {} s off: following it", jump.seconds()),
              kClockBelieved, "1");
}

void restart_beyond(Epoch epoch) {
  start_again("taking the lead anew", kLeadBeyond, std::to_string(epoch.value()));
}

}  // namespace muster::daemon
