// The controller's HTTP with a small cluster behind it, all in one process: bytes in, bytes out.
// The tokens "alice", "bob", "operator" and "root" are good ones, and "task-N" is that of trial N's
// run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/router.h"
#include "fuzz/small_cluster.h"

namespace muster::fuzz {

/// One per process: it has an event loop.
class HttpSite {
 public:
  static constexpr std::string_view kClusterId = "11111111-2222-4333-8444-555555555555";
  HttpSite();
  ~HttpSite();
  /// What a connection is answered that says these bytes and no more. The cluster behind is a new
  /// one each time. Ends the program when a handler fails, when there is no end of the answer
  /// within 20 s, or when what is left of the cluster is not what its journal says.
  std::string exchange(std::string_view bytes);
  /// The same for what may wait for something that does not happen: what had been answered after so
  /// long.
  std::string exchange_for(std::string_view bytes, Duration timeout);
  /// Where the next exchange finds a cluster that was prepared for it.
  SmallCluster& cluster();
  const api::Router& router() const;

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
