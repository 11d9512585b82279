// What a fuzz target is: it takes any bytes and returns; whatever else it does is a fault. The same file runs under libFuzzer
// (clang, with AddressSanitizer and UBSan: `make fuzz`) and under the small driver of standalone_main.cc, which needs no
// compiler but ours: the short runs of `make test`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// libFuzzer's entry point. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace muster::fuzz {

/// What mutation begins with: whole, right inputs of every kind that the target knows. Each target defines it.
std::vector<std::string> seeds();

/// Ends the program with the reason, so that either driver keeps the input that led to it.
[[noreturn]] void found(const char* file, int line, const std::string& what);

inline std::string_view bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace muster::fuzz

/// What must hold for any input.
#define FUZZ_EXPECT(condition, what)                                              \
  do {                                                                            \
    if (!(condition)) ::muster::fuzz::found(__FILE__, __LINE__, what);            \
  } while (false)
