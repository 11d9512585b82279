#include "api/http/list_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace muster::api {
namespace {

using Named = std::pair<std::string, std::optional<double>>;

HttpRequest asked(std::vector<std::pair<std::string, std::string>> parameters) {
  HttpRequest request;
  request.query = std::move(parameters);
  return request;
}

std::vector<SortKey<Named>> keys() {
  return {sort_key<Named>("BY_NAME", [](const Named& one) { return one.first; }),
          number_key<Named>("BY_NUMBER", [](const Named& one) { return one.second; })};
}

std::string names(const std::vector<Named>& list) {
  std::string names;
  for (const Named& one : list) names += one.first;
  return names;
}

std::vector<Named> sample() {
  return {{"b", 2.0}, {"d", std::nullopt}, {"a", 3.0}, {"c", std::nan("")}, {"e", 2.0}};
}

std::string sorted(std::vector<std::pair<std::string, std::string>> parameters) {
  auto list = sample();
  const Status status = sort_list<Named>(asked(std::move(parameters)), list, keys());
  return status.has_value() ? names(list) : status.error().text();
}

TEST(SortList, IsAsItWasWithoutAWordAndTurnedRoundWhereThatIsAsked) {
  EXPECT_EQ(sorted({}), "bdace");
  EXPECT_EQ(sorted({{"orderBy", "ORDER_BY_DESC"}}), "ecadb");
}

TEST(SortList, SortsByAnOrderInBothDirections) {
  EXPECT_EQ(sorted({{"sortBy", "BY_NAME"}}), "abcde");
  EXPECT_EQ(sorted({{"sortBy", "BY_NAME"}, {"orderBy", "ORDER_BY_DESC"}}), "edcba");
}

TEST(SortList, EqualOnesStayAsTheyWereAndMissingNumbersAreLast) {
  EXPECT_EQ(sorted({{"sortBy", "BY_NUMBER"}}), "beadc");
  EXPECT_EQ(sorted({{"sortBy", "BY_NUMBER"}, {"orderBy", "ORDER_BY_DESC"}}), "abedc");
}

TEST(SortList, AnUnknownWordIsRefusedByName) {
  const std::string text = sorted({{"sortBy", "BY_COLOUR"}});
  EXPECT_NE(text.find("BY_COLOUR"), std::string::npos) << text;
  EXPECT_NE(text.find("BY_NUMBER"), std::string::npos) << text;
}

TEST(SortList, MovesWhatCannotBeCopied) {
  struct Unique {
    std::unique_ptr<int> value;
  };
  std::vector<Unique> list;
  for (const int value : {3, 1, 2}) list.push_back({std::make_unique<int>(value)});
  sort_by(list, sort_key<Unique>("VALUE", [](const Unique& one) { return *one.value; }), false);
  EXPECT_EQ(*list[0].value + *list[1].value * 10 + *list[2].value * 100, 321);
}

std::string order_of(const char* target) {
  struct Item {
    char name;
    int rank;
    std::optional<double> value;
  };
  std::vector<Item> items{
      {'a', 2, 0.5}, {'b', 1, std::nullopt}, {'c', 2, -1}, {'d', 1, std::nan("")}, {'e', 1, 3}};
  const Status status =
      sort_list<Item>(parse_target(target).value(), items,
                      {sort_key<Item>("RANK", [](const Item& one) { return one.rank; }),
                       number_key<Item>("VALUE", [](const Item& one) { return one.value; })});
  if (!status.has_value()) return status.error().text();
  std::string names;
  for (const Item& one : items) names += one.name;
  return names;
}

TEST(ListOrder, IsWhatIsAskedFor) {
  EXPECT_EQ(order_of("/"), "abcde");
  EXPECT_EQ(order_of("/?sortBy=SORT_BY_UNSPECIFIED&orderBy=ORDER_BY_UNSPECIFIED"), "abcde");
  EXPECT_EQ(order_of("/?orderBy=ORDER_BY_DESC"), "edcba");
  EXPECT_EQ(order_of("/?sortBy=RANK"), "bdeac");
  EXPECT_EQ(order_of("/?sortBy=RANK&orderBy=ORDER_BY_DESC"), "acbde")
      << "equal ones stay as they were";
  EXPECT_EQ(order_of("/?sortBy=VALUE&orderBy=ORDER_BY_ASC"), "caebd")
      << "what has no number is last";
  EXPECT_EQ(order_of("/?sortBy=VALUE&orderBy=ORDER_BY_DESC"), "eacbd");
  EXPECT_EQ(order_of("/?sortBy=NAME"), "sortBy: 'NAME' is not there: give one of RANK, VALUE");
  EXPECT_EQ(order_of("/?orderBy=down"),
            "orderBy: 'down' is not there: give one of ORDER_BY_ASC, ORDER_BY_DESC");
}

}  // namespace
}  // namespace muster::api
