// Where HTTP is served, as the runs of trials are told.
#pragma once

#include <string>

namespace muster {

/// What runs of trials must know to reach the controller by HTTP.
struct HttpEndpoint {
  std::string master;     ///< "http://host:port"; empty: HTTP is not served
  std::string token_key;  ///< signs their tokens
  std::string cluster;    ///< the cluster's uuid
};

}  // namespace muster
