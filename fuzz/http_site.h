// The controller's HTTP with a small cluster behind it, all in one process: bytes in, bytes out.
// The tokens "alice", "bob", "operator" and "root" are good ones, and "task-N" is that of trial N's
// run; where the cluster lasts, "task-N.R" is that of its run R, and "job-N" what job N has of its
// owner's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/router.h"
#include "api/http_service.h"
#include "fuzz/small_cluster.h"
#include "store/tokens/token_store.h"

namespace muster::fuzz {

/// Who serves at a node's port, as the controller reaches it.
using Connect = std::function<kj::Own<kj::AsyncIoStream>(const std::string& host, std::uint16_t)>;

/// One at a time in a process: it has an event loop.
class HttpSite {
 public:
  static constexpr std::string_view kClusterId = "11111111-2222-4333-8444-555555555555";
  /// `is_lasting`: the cluster is idle at first and stays from one call to the next, with stores
  /// for metrics and logs. Otherwise each exchange finds a new one that has something of
  /// everything, and nothing is stored.
  explicit HttpSite(bool is_lasting = false);
  ~HttpSite();

  /// One connection that says these bytes and no more. Lifetime: the site outlives it.
  class Call {
   public:
    ~Call();
    /// Runs whatever can run without waiting for a clock or another process. True: all of the
    /// answer is there.
    bool run();
    /// False: it is not, after so long.
    bool wait(Duration timeout);
    const std::string& answer() const;

   private:
    friend class HttpSite;
    struct State;
    explicit Call(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };
  /// A handler that fails ends the program.
  std::unique_ptr<Call> open(std::string_view bytes, api::Door door = api::Door::kApi);

  /// What is answered to these bytes, by a new cluster. Ends the program also when there is no end
  /// of the answer within 20 s, or when what is left of the cluster is not what its journal says.
  std::string exchange(std::string_view bytes);
  /// The same for what may wait for something that does not happen: what had been answered after so
  /// long.
  std::string exchange_for(std::string_view bytes, Duration timeout);
  /// Where the next exchange finds a cluster that was prepared for it.
  SmallCluster& cluster();
  const api::Router& router() const;

  // Of a lasting one.
  LogStore& logs();
  TokenStore& tokens();
  api::ApiPort::ServerSettings& settings();
  kj::AsyncIoContext& io();
  /// Unset, nobody serves anywhere.
  void set_connect(Connect connect);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A route's pattern with what `value` has for each name in its braces.
std::string filled(const std::string& pattern,
                   const std::function<std::string(const std::string& name)>& value);

/// "GET", "POST", ...
const char* name_of(api::Method method);

}  // namespace muster::fuzz
