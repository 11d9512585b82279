// For clang alone, before everything else: in C++20 KJ 0.9 leaves these comparisons to the
// language's rewriting, which clang does not do for the way its StringPtr is declared.
#pragma once

#include <kj/string.h>

#if __cpp_impl_three_way_comparison
namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return b == StringPtr(a); }
inline bool operator!=(const char* a, const StringPtr& b) { return !(b == StringPtr(a)); }
}  // namespace kj
#endif
