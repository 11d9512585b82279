// Requests on their way into the core: decoded, and checked as far as that needs no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/array.h"
#include "model/dependency.h"
#include "model/request.h"

namespace muster {

/// Bytes with their content address. Null bytes: none.
struct PreparedBlob {
  std::string digest;
  Bytes bytes;
};

struct PreparedSubmit {
  std::shared_ptr<JobSpec> spec;  ///< ours alone until it is submitted
  StepSpecRef first_step;
  PreparedBlob script;
  PreparedBlob environment;
  std::optional<ArraySpec> array;
  DependencySet dependencies;
  bool is_test_only = false;
};

struct PreparedStep {
  JobId job;
  std::shared_ptr<StepSpec> spec;
  PreparedBlob environment;
};

using PreparedRequest = std::variant<PreparedSubmit, PreparedStep, CancelJobs, ControlJobs, UpdateObject,
                                     ReleaseAllocation, RenewLease, CancelStep, Reconfigure>;

/// One atomic batch of a client. `token` is the gateway's, for the replies.
struct Command {
  std::uint64_t token = 0;
  Identity identity;
  RequestId request;
  std::vector<PreparedRequest> requests;
};

}  // namespace muster
