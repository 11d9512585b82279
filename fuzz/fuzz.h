// What a fuzz target is: it takes any bytes and returns; whatever else it does is a fault. The same
// file runs under libFuzzer (clang, with AddressSanitizer and UBSan: `make fuzz`) and under the
// small driver of standalone_main.cc, which needs no compiler but ours: the short runs of `make
// test`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// libFuzzer's entry point. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,  // NOLINT(*-naming)
                                      std::size_t size);

namespace muster::fuzz {

/// What mutation begins with: whole, right inputs of every kind that the target knows. Each target
/// defines it.
std::vector<std::string> seeds();

/// Ends the program with the reason, so that either driver keeps the input that led to it.
[[noreturn]] void found(const char* file, int line, const std::string& what);

/// Of targets that draw what they try: a number to draw by (8 bytes), then a choice for each step,
/// at most 64.
struct Choices {
  std::uint64_t seed = 0;
  std::string_view steps;  ///< empty as well where the input has no whole number
};
Choices choices_in(std::string_view input);
/// Eight inputs of that form. `steps`: how many the shortest has; `stride` parts the choices of one
/// from those of the next.
std::vector<std::string> choice_seeds(std::size_t steps, int stride);

inline std::string_view bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace muster::fuzz

/// What must hold for any input.
#define FUZZ_EXPECT(condition, what)                                   \
  do {                                                                 \
    if (!(condition)) ::muster::fuzz::found(__FILE__, __LINE__, what); \
  } while (false)
