// Lists the checkpoints of an experiment or a trial.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/determined/checkpoint_json.h"
#include "api/http/http_message.h"

namespace muster::api {

/// Returns the parameters that a list of checkpoints accepts behind '?'.
std::vector<std::string> checkpoint_list_parameters();

/// Replies with the checkpoints in the `states` that the request wants, measured, sorted by
/// `sortByAttr` or by the metric `sortByMetric` of their validations. By the searcher's metric the
/// better come first unless `orderBy` says otherwise; those without a value are last.
kj::Promise<HttpReply> checkpoint_list(ApiPort& port, std::shared_ptr<const HttpRequest> request,
                                       std::vector<CheckpointDetails> all);

}  // namespace muster::api
