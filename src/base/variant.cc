// Out of line, so that the headers of variants need no fmt.

#include "base/variant.h"

#include "base/check.h"

namespace muster {

void fail_variant_access(std::size_t held, std::size_t wanted) {
  CHECK(false, "a value of kind {} is read as one of kind {}", held, wanted);
}

}  // namespace muster
