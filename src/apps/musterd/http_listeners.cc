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

#include "apps/musterd/handover.h"
#include "apps/musterd/threads.h"
#include "env/posix/read_whole.h"
#include "env/posix/write_whole.h"
#include "env/write_error.h"
#include "text/digest.h"
#include "wire/handed_sockets.h"
#include "wire/listeners.h"
#include "wire/socket.h"

namespace muster::daemon {
namespace {

constexpr std::size_t kKeyBytes = 32;

/// Nullopt: there is none yet. One that is there and no key is not made anew: all tokens that it
/// signed would be void.
Result<std::optional<std::string>> read_key(const std::string& path) {
  std::optional<std::string> key = TRY(read_whole(path));
  if (!key.has_value() || key->size() == kKeyBytes) return key;
  return fail(ErrorCode::kCorruption, path + " is damaged",
              "put it aside: another is made, and all tokens are void");
}

Result<std::string> read_or_make_key(const std::string& path) {
  if (std::optional<std::string> found = TRY(read_key(path))) return std::move(*found);
  std::string key(kKeyBytes, '\0');
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(kKeyBytes))
    return fail(ErrorCode::kUnavailable, "no random numbers", std::strerror(errno));
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  int error = fd < 0 ? errno : write_whole(fd, key);
  // Written under another name first: a crash leaves no half of a key.
  const bool is_kept = error == 0 && ::fsync(fd) == 0 && ::rename(fresh.c_str(), path.c_str()) == 0;
  if (error == 0 && !is_kept) error = errno;
  if (fd >= 0) ::close(fd);
  if (error != 0) return fail(write_error(path, error));
  return key;
}

std::string key_path(const DaemonOptions& options) { return options.state_folder + "/http.key"; }

std::string cluster_uuid(const std::string& key) {
  // Derived from the key, so that both live equally long.
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

/// One of the two addresses that HTTP is served at.
struct WantedAddress {
  const char* key;
  std::string address;  ///< with port 0: any that is free
  std::string memory;   ///< the file that says where it was the last time
};

/// Requires: MusterHttp is configured.
std::array<WantedAddress, 2> wanted_addresses(const DaemonOptions& options) {
  const HttpSettings& http = options.http;
  // Services have a port of their own on the same host where none is configured.
  const std::string beside = http.listen.substr(0, http.listen.rfind(':')) + ":0";
  const std::string services = http.services_listen.empty() ? beside : http.services_listen;
  return {WantedAddress{"MusterHttp", http.listen, options.state_folder + "/http.address"},
          WantedAddress{"MusterHttpServices", services,
                        options.state_folder + "/http-services.address"}};
}

/// The address of the last time, where any port will do of the same host; else empty.
std::string port_of_last_time(const WantedAddress& wanted) {
  const std::string last = first_line(wanted.memory);
  const std::string any_port = wanted.address.substr(0, wanted.address.size() - 1);
  return wanted.address.ends_with(":0") && last.starts_with(any_port) ? last : "";
}

/// With port 0 the port of the last time, so that what runs finds us again after a restart; another
/// one where somebody else has taken that.
template <class Open>
auto open_one(const WantedAddress& wanted, Open&& open) {
  if (const std::string last = port_of_last_time(wanted); !last.empty()) {
    if (auto again = open(last); again.has_value()) return again;
  }
  auto opened = open(wanted.address);
  if (!opened.has_value())
    opened.error().message = fmt::format("{}: {}", wanted.key, opened.error().message);
  return opened;
}

/// Both listeners of a place, closed unless they are taken.
struct HttpListeners {
  std::array<TcpListener, 2> at;  ///< by the places of wanted_addresses
  std::array<kj::AutoCloseFd, 2> held;
};

/// The places of both, that with a port of its own first: any port is one that the other has not.
std::array<std::size_t, 2> in_order(const std::array<WantedAddress, 2>& wanted) {
  if (wanted[0].address.ends_with(":0")) return {1, 0};
  return {0, 1};
}

/// Listens on both addresses, or on none: one of them alone might take what the other was to have.
template <class Open>
Result<HttpListeners> listen_on_both(const std::array<WantedAddress, 2>& wanted, Open&& open) {
  HttpListeners both;
  for (const std::size_t i : in_order(wanted)) {
    both.at[i] = TRY(open(wanted[i]));
    both.held[i] = kj::AutoCloseFd(both.at[i].fd);
  }
  return both;
}

/// Says that HTTP is not where a start by hand would have found it the last time.
std::string moved_text(const std::array<WantedAddress, 2>& wanted, const HttpListeners& found) {
  std::string text;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string last = port_of_last_time(wanted[i]);
    if (last.empty() || last == found.at[i].address) continue;
    text += fmt::format("{}{}: {} is taken: it is {} now, which what runs does not know",
                        text.empty() ? "" : "; ", wanted[i].key, last, found.at[i].address);
  }
  return text;
}

/// As configured. A run that goes on: else where the last run did, else nowhere, with a warning.
Result<HttpListeners> find_listeners(const std::array<WantedAddress, 2>& wanted,
                                     const Handover& before, std::string& warning) {
  HandedSockets sockets(before.sockets);
  const auto open = [&](const WantedAddress& one, const std::string& address) {
    return sockets.listen(address, static_cast<std::size_t>(&one - wanted.data()));
  };
  auto found = listen_on_both(wanted, [&](const WantedAddress& one) {
    return open_one(one, [&](const std::string& address) { return open(one, address); });
  });
  if (found.has_value()) warning = moved_text(wanted, *found);
  // A run that was begun by hand ends with its error instead.
  if (found.has_value() || !before.goes_on) return found;
  warning = found.error().text();
  sockets.start_over();
  auto last = listen_on_both(
      wanted, [&](const WantedAddress& one) { return open(one, first_line(one.memory)); });
  if (!last.has_value()) {
    warning += ": HTTP is not served until scontrol reconfigure finds it free";
    return HttpListeners{};
  }
  warning += fmt::format(": HTTP stays at {} until scontrol reconfigure finds it free",
                         last->at[0].address);
  return last;
}

void remember(const WantedAddress& wanted, const std::string& address) {
  // On a full disk a file that is emptied stays empty.
  if (first_line(wanted.memory) != address)
    std::ofstream(wanted.memory, std::ios::trunc) << address << "\n";
}

/// Whether only one of the addresses could be listened on: they have one port, and hosts of which
/// one is or holds the other. Errors: there is no such host or port.
Result<bool> exclude_each_other(const std::string& one, const std::string& other) {
  const TcpEndpoint first = TRY(resolve_tcp(one));
  const TcpEndpoint second = TRY(resolve_tcp(other));
  return first.port != 0 && overlap(first, second);
}

}  // namespace

Result<ServedHttp> open_http(const DaemonOptions& options, const Handover& before) {
  ServedHttp place;
  if (options.http.listen.empty()) {
    // HTTP is not configured: sockets of the run before are closed.
    const HandedSockets closed(before.sockets);
    return place;
  }
  place.token_key = TRY(read_or_make_key(key_path(options)));
  place.cluster_id = cluster_uuid(place.token_key);
  const auto wanted = wanted_addresses(options);
  HttpListeners both = TRY(find_listeners(wanted, before, place.warning));
  if (both.at[0].fd < 0) return place;
  for (std::size_t i = 0; i < wanted.size(); ++i) remember(wanted[i], both.at[i].address);
  place.listen_fd = both.held[0].release();
  place.address = both.at[0].address;
  place.services_fd = both.held[1].release();
  const std::string& services = both.at[1].address;
  place.services_port =
      static_cast<std::uint16_t>(std::stoul(services.substr(services.rfind(':') + 1)));
  return place;
}

Status check_http(const DaemonOptions& options, const ServedHttp& running) {
  if (options.http.listen.empty()) return {};
  TRY(read_key(key_path(options)));
  std::vector<int> own;
  for (const int socket : {running.listen_fd, running.services_fd}) {
    if (socket >= 0) own.push_back(socket);
  }
  std::vector<std::string> taken;
  const auto could_listen = [&](const std::string& address) -> Result<int> {
    for (const std::string& other : taken) {
      if (TRY(exclude_each_other(other, address)))
        return fail(ErrorCode::kInvalidArgument, "cannot listen on " + address,
                    "the other of MusterHttp and MusterHttpServices listens there");
    }
    TRY(check_listen(address, own));
    taken.push_back(address);
    return 0;
  };
  const auto wanted = wanted_addresses(options);
  for (const std::size_t i : in_order(wanted)) TRY(open_one(wanted[i], could_listen));
  return {};
}

}  // namespace muster::daemon
