// Counts are kept by user, and an entry goes with the last of what is counted. Operators count
// among the whole, but have no share of their own to exceed.
#include "wire/connection_quota.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {

QuotaLimits client_limits(std::uint64_t files) {
  QuotaLimits limits;
  // The usual limits fit.
  if (files / 2 >= limits.connections_max) return limits;
  const auto room = static_cast<std::uint32_t>(files / 2);
  // The shares in the whole stay what they are.
  limits.connections_reserved = room / (limits.connections_max / limits.connections_reserved);
  limits.connections_of_user_max = room / (limits.connections_max / limits.connections_of_user_max);
  limits.connections_max = room;
  return limits;
}

QuotaLimits agent_limits(std::uint64_t files) {
  constexpr std::uint64_t kOwnFiles = 256;
  // The controller's own files: databases, logs, sockets, pipes.
  const std::uint64_t taken = client_limits(files).connections_max + std::min(kOwnFiles, files / 4);
  QuotaLimits limits;
  limits.connections_max = limits.connections_of_user_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(files - taken, UINT32_MAX));
  limits.connections_reserved = 0;
  return limits;
}

std::optional<std::string> ConnectionQuota::add_connection(UserId user, bool is_operator) {
  // The last connections are for operators, who could not mend anything otherwise.
  const std::uint32_t open_to_all =
      limits_.connections_max - std::min(limits_.connections_max, limits_.connections_reserved);
  if (connections_ >= (is_operator ? limits_.connections_max : open_to_all)) {
    return fmt::format("too many connections: {} are open; try again when others have ended",
                       connections_);
  }
  Held& held = by_user_[user];
  if (!is_operator && held.connections >= limits_.connections_of_user_max) {
    return fmt::format(
        "too many connections of user {}: {} are open, which is all that one user may have; end "
        "some of them",
        user.value(), held.connections);
  }
  ++held.connections;
  ++connections_;
  return std::nullopt;
}

std::optional<std::string> ConnectionQuota::add_call(UserId user, bool is_operator) {
  Held& held = by_user_[user];
  if (!is_operator && held.calls >= limits_.calls_of_user_max) {
    forget_idle(user);
    return fmt::format("too many requests of user {} at once: {} have no answer yet", user.value(),
                       limits_.calls_of_user_max);
  }
  ++held.calls;
  return std::nullopt;
}

std::optional<std::string> ConnectionQuota::add_bytes(UserId user, bool is_operator,
                                                      std::size_t bytes) {
  Held& held = by_user_[user];
  // A difference rather than a sum, which could overflow.
  if (!is_operator &&
      bytes > limits_.bytes_of_user_max - std::min(limits_.bytes_of_user_max, held.bytes)) {
    forget_idle(user);
    return fmt::format("too many bytes of user {} under way at once: at most {} MiB may be",
                       user.value(), limits_.bytes_of_user_max >> 20);
  }
  held.bytes += bytes;
  return std::nullopt;
}

void ConnectionQuota::drop_connection(UserId user) {
  --by_user_[user].connections;
  --connections_;
  forget_idle(user);
}

void ConnectionQuota::drop_call(UserId user) {
  --by_user_[user].calls;
  forget_idle(user);
}

void ConnectionQuota::drop_bytes(UserId user, std::size_t bytes) {
  by_user_[user].bytes -= bytes;
  forget_idle(user);
}

void ConnectionQuota::forget_idle(UserId user) {
  const Held& held = by_user_[user];
  if (held.connections == 0 && held.calls == 0 && held.bytes == 0) by_user_.erase(user);
}

}  // namespace muster
