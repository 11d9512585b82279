// muster certify: what resuming a script gives, measured by the Python package, with no controller.
#include "cli/lib/commands.h"
#include "cli/lib/python_package.h"
#include "cli/lib/submitting_process.h"

namespace muster::cli {

int run_certify(const Words& words) {
  return run_package(Console("muster certify"), "muster.certify", words,
                     // The whole environment: what is measured runs as it would for the user.
                     submitting_process({"muster", "certify"}).environment);
}

}  // namespace muster::cli
