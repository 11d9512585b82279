// muster certify: what resuming a script gives, measured by the Python package, with no controller.
#include "cli/commands.h"
#include "cli/job_request.h"
#include "cli/python_package.h"

namespace muster::cli {

int run_certify(const Words& words) {
  return run_package(Console("muster certify"), "muster.certify", words, submit_scene({"muster", "certify"}).environment);
}

}  // namespace muster::cli
