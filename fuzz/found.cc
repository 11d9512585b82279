#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz.h"

namespace muster::fuzz {

void found(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::abort();
}

}  // namespace muster::fuzz
