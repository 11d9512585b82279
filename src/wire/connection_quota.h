// Counts what the users of a listening socket hold of it at once, so that none of them can keep the
// others out: connections, calls that have no answer yet, bytes of messages. It belongs to the
// server's thread and knows no sockets: rpc_server.cc asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/ids.h"

namespace muster {

struct QuotaLimits {
  std::uint32_t connections_max = 8192;       ///< of all together
  std::uint32_t connections_reserved = 1024;  ///< of these, those that only operators get
  std::uint32_t connections_of_user_max = 2048;
  std::uint32_t calls_of_user_max = 4096;  ///< without an answer yet: waiting ones too
  std::size_t bytes_of_user_max = std::size_t{512}
                                  << 20;  ///< of messages that are on their way in or still in use
};

/// Returns the limits for clients: half of the files that the process may open, and no more than
/// the limits as they are; the shares in it stay.
QuotaLimits client_limits(std::uint64_t files);
/// Returns the limits for agents, whose socket nobody else opens: what clients and the controller's
/// own files leave.
QuotaLimits agent_limits(std::uint64_t files);

/// The words with which every refusal below begins, by which a client knows it.
inline constexpr std::string_view kRefusalBegins = "too many ";

/// Counts by user. Operators (root, the user that the controller runs as, SlurmUser) are bound by
/// the whole alone.
class ConnectionQuota {
 public:
  explicit ConnectionQuota(QuotaLimits limits) : limits_(limits) {}

  /// Each of these counts one more, or says why not, for the user's eyes.
  std::optional<std::string> add_connection(UserId user, bool is_operator);
  std::optional<std::string> add_call(UserId user, bool is_operator);
  std::optional<std::string> add_bytes(UserId user, bool is_operator, std::size_t bytes);
  void drop_connection(UserId user);
  void drop_call(UserId user);
  void drop_bytes(UserId user, std::size_t bytes);

  std::uint32_t connections() const { return connections_; }
  /// Returns the number of users of whom anything is counted.
  std::size_t users() const { return by_user_.size(); }

 private:
  struct Held {
    std::uint32_t connections = 0;
    std::uint32_t calls = 0;
    std::size_t bytes = 0;
  };
  void forget_idle(UserId user);

  QuotaLimits limits_;
  std::uint32_t connections_ = 0;
  std::unordered_map<UserId, Held> by_user_;
};

}  // namespace muster
