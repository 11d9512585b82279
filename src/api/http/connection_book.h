// Counts the connections and requests of HTTP by who has them: nobody gets all of them, and some
// are reserved for those who must get in.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace muster::api {

/// Counts slots by name; a slot is released by its destruction. Lifetime: a slot may outlive the
/// counter.
class Counter {
 public:
  using Slot = std::shared_ptr<void>;
  /// Acquires a slot; null: `most` are in use.
  Slot acquire(const std::string& name, std::size_t most);
  std::size_t of(const std::string& name) const;

 private:
  using Counts = std::unordered_map<std::string, std::size_t>;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

/// Bytes of requests' bodies that are in memory, by who sends them: whoever sends many large ones
/// at once, and none to its end, fills nobody's memory but his share. The last part of all is
/// reserved for operators, and for small bodies, as trials report.
class BodyBook {
 public:
  /// One request's part of the memory. Lifetime: it may outlive the book.
  class Share {
   public:
    Share(std::shared_ptr<std::unordered_map<std::string, std::size_t>> held, std::string name,
          bool is_operator)
        : held_(std::move(held)), name_(std::move(name)), is_operator_(is_operator) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    /// Adds bytes. False: this sender, or all together, have as much as they may; nothing is added
    /// then.
    bool add(std::size_t bytes);
    bool was_refused() const { return was_refused_; }

   private:
    std::shared_ptr<std::unordered_map<std::string, std::size_t>> held_;
    std::string name_;
    bool is_operator_ = false;
    std::size_t bytes_ = 0;
    bool was_refused_ = false;
  };
  std::unique_ptr<Share> open(const std::string& name, bool is_operator = false) const {
    return std::make_unique<Share>(held_, name, is_operator);
  }

  static constexpr std::size_t kUserMax = std::size_t{512} << 20;
  static constexpr std::size_t kAllMax = std::size_t{2} << 30;
  static constexpr std::size_t kReserved = std::size_t{256} << 20;  ///< of kAllMax
  static constexpr std::size_t kSmallMax = std::size_t{4}
                                           << 20;  ///< what one user may have of what is kept

 private:
  std::shared_ptr<std::unordered_map<std::string, std::size_t>> held_ =
      std::make_shared<std::unordered_map<std::string, std::size_t>>();
};

struct ConnectionLimits {
  std::size_t all = 0;
  std::size_t peer = 0;  ///< of one peer, but for operators
  /// How many of the last connections are reserved: half of them for who shows a good token at
  /// once, half for operators of this machine.
  std::size_t kept = 0;
};

/// Returns the usual limits where so many descriptors may be open; zero of `wanted_…`: no wish.
ConnectionLimits connection_limits(std::size_t descriptors, std::size_t wanted_all,
                                   std::size_t wanted_peer);

class ConnectionBook {
 public:
  explicit ConnectionBook(ConnectionLimits limits) : limits_(limits) {}
  struct Entry {
    Counter::Slot slot;       ///< null: refused
    bool must_prove = false;  ///< only its first request with a good token lets it stay
  };
  Entry acquire(const std::string& peer, bool is_operator);
  /// Returns how many connections are open.
  std::size_t open_count() const { return all_.of(""); }

 private:
  ConnectionLimits limits_;
  Counter peers_;
  Counter all_;
};

/// Counts failed logins by peer: after so many in a minute it waits. Bounded: when it is full,
/// minutes that are over go, then any.
class LoginGuard {
 public:
  bool may_try(const std::string& peer, TimePoint now) const;
  void failed(const std::string& peer, TimePoint now);

  static constexpr std::size_t kFailuresMax = 10;
  static constexpr Duration kWindow = Duration::minutes(1);
  static constexpr std::size_t kPeersMax = 10'000;

 private:
  struct Failures {
    TimePoint since;
    std::size_t count = 0;
  };
  std::unordered_map<std::string, Failures> peers_;
};

}  // namespace muster::api
