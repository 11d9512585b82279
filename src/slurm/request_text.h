// Parses the texts of a job that ask for resources, once, where a job comes in or is changed.
// Whoever plans, starts or shows a job uses the parsed request.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/job_spec.h"

namespace muster {

/// The lists of nodes that were read last, one for each key: a command that changes a thousand jobs
/// alike reads its list once.
class NodeListMemo {
 public:
  /// Returns the names that the text stands for, by bytes and each once. Errors: kInvalidArgument
  /// "Invalid node name specified".
  Result<std::vector<std::string>> names_of(JobText key, std::string_view text);

 private:
  std::map<JobText, std::pair<std::string, std::vector<std::string>>> known_;
};

/// True when any text of the job asks for resources: without one, the lists of its request are
/// empty.
bool asks_by_text(const JobSpec& spec);

/// Sets the lists of `spec.request` to what the job's texts say; its numbers stay. Errors:
/// kInvalidArgument with Slurm's text for a malformed feature, gres or node list; the request is
/// then as it was.
Status parse_request(JobSpec& spec);
/// The same of one text alone, which has changed; one that asks for no resources changes nothing.
Status parse_request_text(JobSpec& spec, JobText key, NodeListMemo& memo);

}  // namespace muster
