#include "admission/testing.h"

#include "base/check.h"
#include "slurm/request_text.h"
#include "text/digest.h"

namespace muster::testing {

PreparedSubmit submit_of(std::shared_ptr<JobSpec> spec, const std::string& script) {
  PreparedSubmit submit;
  submit.spec = std::move(spec);
  CHECK(parse_request(*submit.spec).has_value(), "a test's job cannot be read");
  submit.script = PreparedBlob{sha256(script), std::make_shared<const std::string>(script)};
  return submit;
}

JobSelector selector_of(JobId job) {
  JobSelector selector;
  selector.job = job;
  return selector;
}

JobSelector element_of(JobId job, Bitmap indices) {
  JobSelector selector;
  selector.job = job;
  selector.is_element = true;
  selector.indices = std::move(indices);
  return selector;
}

ControlJobs control_of(JobVerb verb, JobSelector job) {
  return ControlJobs{verb, {std::move(job)}};
}

CancelJobs cancel_of(JobId job) {
  CancelJobs cancel;
  cancel.filter.jobs.push_back(selector_of(job));
  return cancel;
}

}  // namespace muster::testing
