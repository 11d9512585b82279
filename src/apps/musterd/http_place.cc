// Where HTTP is served: the addresses that are configured, and the key that signs tokens.
#include <fcntl.h>
#include <fmt/format.h>
#include <kj/io.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "apps/musterd/threads.h"
#include "codec/digest.h"
#include "env/posix/write_whole.h"
#include "env/write_error.h"
#include "wire/socket.h"

namespace muster::daemon {
namespace {

constexpr std::size_t kKeyBytes = 32;

Result<std::string> read_or_make_key(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string key((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (key.size() == kKeyBytes) return key;
  key.assign(kKeyBytes, '\0');
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(kKeyBytes))
    return fail(ErrorCode::kUnavailable, "no random numbers", std::strerror(errno));
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  int error = fd < 0 ? errno : write_whole(fd, key);
  const bool is_kept = error == 0 && ::fsync(fd) == 0 && ::rename(fresh.c_str(), path.c_str()) == 0;
  if (error == 0 && !is_kept) error = errno;
  if (fd >= 0) ::close(fd);
  if (error != 0) return fail(write_error(path, error));
  return key;
}

std::string cluster_uuid(const std::string& key) {
  const std::string digest = sha256("cluster " + key);
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, digest.data(), sizeof high);
  std::memcpy(&low, digest.data() + sizeof high, sizeof low);
  return uuid_text(high, low);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// With port 0 the port of the last time, so that what runs finds us again after a restart.
std::string wanted_address(const std::string& listen, const std::string& memory) {
  if (!listen.ends_with(":0")) return listen;
  const std::string last = first_line(memory);
  return last.starts_with(listen.substr(0, listen.size() - 1)) ? last : listen;
}

/// One of the two addresses that HTTP is served at.
struct WantedAddress {
  const char* key;
  std::string address;
  std::string memory;  ///< the file that says where it was the last time
};

/// Requires: MusterHttp is configured.
std::array<WantedAddress, 2> wanted_addresses(const DaemonOptions& options) {
  const HttpSettings& http = options.http;
  const std::string beside = http.listen.substr(0, http.listen.rfind(':')) + ":0";
  const std::string services = http.services_listen.empty() ? beside : http.services_listen;
  const std::string memory = options.state_folder + "/http.address";
  const std::string services_memory = options.state_folder + "/http-services.address";
  return {WantedAddress{"MusterHttp", wanted_address(http.listen, memory), memory},
          WantedAddress{"MusterHttpServices", wanted_address(services, services_memory),
                        services_memory}};
}

Result<TcpListener> listen_at(const WantedAddress& wanted) {
  auto opened = listen_tcp(wanted.address);
  if (opened.has_value()) return opened;
  return fail(opened.error().code, fmt::format("{}: {}", wanted.key, opened.error().message),
              opened.error().detail);
}

/// Listens, and remembers where.
Result<TcpListener> listen_again(const WantedAddress& wanted) {
  auto opened = TRY(listen_at(wanted));
  // On a full disk a file that is emptied stays empty.
  if (first_line(wanted.memory) != opened.address)
    std::ofstream(wanted.memory, std::ios::trunc) << opened.address << "\n";
  return opened;
}

/// Which of this run's sockets keeps the address from being listened on; -1: none of them. Errors:
/// the host is not this machine.
Result<int> own_socket_at(const WantedAddress& wanted, const HttpPlace& running) {
  const auto colon = wanted.address.rfind(':');
  WantedAddress any_port = wanted;
  any_port.address = wanted.address.substr(0, colon) + ":0";
  const kj::AutoCloseFd tried(TRY(listen_at(any_port)).fd);
  SocketAddress sought = TRY(bound_address(tried));
  sought.port = wanted.address.substr(colon + 1);
  for (const int socket : {running.listen_fd, running.services_fd}) {
    if (socket < 0) continue;
    const SocketAddress own = TRY(bound_address(socket));
    const bool is_one_host = own.host == sought.host || own.is_any || sought.is_any;
    if (is_one_host && own.port == sought.port) return socket;
  }
  return -1;
}

}  // namespace

Result<HttpPlace> open_http(const DaemonOptions& options) {
  HttpPlace place;
  const HttpSettings& http = options.http;
  if (http.listen.empty()) return place;
  place.token_key = TRY(read_or_make_key(options.state_folder + "/http.key"));
  place.cluster_id = cluster_uuid(place.token_key);
  const auto wanted = wanted_addresses(options);
  const TcpListener api = TRY(listen_again(wanted[0]));
  place.listen_fd = api.fd;
  place.address = api.address;
  const TcpListener services = TRY(listen_again(wanted[1]));
  place.services_fd = services.fd;
  place.services_port = static_cast<std::uint16_t>(
      std::stoul(services.address.substr(services.address.rfind(':') + 1)));
  return place;
}

Status check_http_addresses(const DaemonOptions& options, const HttpPlace& running) {
  if (options.http.listen.empty()) return {};
  std::vector<kj::AutoCloseFd> tried;  // both are held at once, as they will be
  std::vector<int> own;
  for (const WantedAddress& wanted : wanted_addresses(options)) {
    const auto opened = listen_at(wanted);
    if (opened.has_value()) {
      tried.emplace_back(opened->fd);
      continue;
    }
    // What this run listens on cannot be tried while it does.
    const auto socket = own_socket_at(wanted, running);
    if (!socket.has_value() || *socket < 0) return fail(opened.error());
    own.push_back(*socket);
  }
  if (own.size() < 2 || own[0] != own[1]) return {};
  return fail(ErrorCode::kInvalidArgument, "MusterHttp and MusterHttpServices have one address",
              "give each a port of its own");
}

}  // namespace muster::daemon
