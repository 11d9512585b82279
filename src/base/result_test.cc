#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace muster {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::kInvalidArgument, "odd number", std::to_string(n));
  return n / 2;
}
Result<int> quarter(int n) {
  const int once = TRY(half(n));
  return TRY(half(once));
}
Status check_even(int n, int& checked) {
  TRY(half(n));
  ++checked;
  return {};
}
Result<std::unique_ptr<int>> owned(int n) {
  auto value = TRY(half(n));
  return std::make_unique<int>(value);
}
Result<int> unwrapped(int n) {
  const std::unique_ptr<int> value = TRY(owned(n));
  return *value;
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().text(), "odd number: 3");
  EXPECT_EQ(quarter(5).error().text(), "odd number: 5");
}

TEST(Result, TryOfAStatusReturnsBeforeWhatFollows) {
  int checked = 0;
  EXPECT_TRUE(check_even(4, checked).has_value());
  EXPECT_EQ(checked, 1);
  EXPECT_FALSE(check_even(3, checked).has_value());
  EXPECT_EQ(checked, 1);
}

TEST(Result, TryMovesWhatCannotBeCopied) {
  EXPECT_EQ(unwrapped(8).value(), 4);
  EXPECT_EQ(unwrapped(7).error().code, ErrorCode::kInvalidArgument);
}

TEST(Result, ErrorsAreEqualInAllTheirParts) {
  const Error error{ErrorCode::kNotFound, "no job", "7"};
  const Result<int> failed = fail(error);
  EXPECT_EQ(failed.error(), error);
  EXPECT_NE(failed.error(), (Error{ErrorCode::kConflict, "no job", "7"}));
  EXPECT_NE(failed.error(), (Error{ErrorCode::kNotFound, "no node", "7"}));
  EXPECT_NE(failed.error(), (Error{ErrorCode::kNotFound, "no job", "8"}));
}

TEST(Result, AnErrorWithoutADetailIsItsMessageAlone) {
  EXPECT_EQ((Error{ErrorCode::kNotFound, "no job", ""}).text(), "no job");
}

TEST(Result, CodesKeepTheirNumbersAndHaveNamesOfTheirOwn) {
  const std::pair<int, const char*> codes[] = {
      {1, "invalid_argument"},    {2, "not_found"},         {3, "already_exists"},
      {4, "failed_precondition"}, {5, "permission_denied"}, {6, "resource_exhausted"},
      {7, "unavailable"},         {8, "deadline_exceeded"}, {9, "conflict"},
      {10, "corruption"},         {11, "unimplemented"},    {12, "internal"}};
  for (const auto& [number, name] : codes)
    EXPECT_EQ(error_code_name(static_cast<ErrorCode>(number)), name);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kUnavailable), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInternal), 12);
}

TEST(Result, ACodeOfANewerVersionIsUnknownRatherThanABug) {
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(13)), "unknown");
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(255)), "unknown");
}

}  // namespace
}  // namespace muster
