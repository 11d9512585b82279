// Where HTTP is served, as the runs of trials and services are told.
#pragma once

#include <string>

namespace muster {

/// What runs of trials and services must know to reach the controller by HTTP.
struct HttpEndpoint {
  std::string master;     ///< "http://host:port"; empty: HTTP is not served
  std::string token_key;  ///< signs their tokens
  /// The cluster's uuid as Determined's clients know it, made from `token_key`. It is not
  /// ClusterState::cluster_id().
  std::string cluster;
};

}  // namespace muster
