#include "slurm/conf/conf_key.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Target {
  std::string colour;
};
Status set_colour(Target& target, std::string_view value) {
  if (value == "mauve") return fail(ErrorCode::kInvalidArgument, "no such colour", "write red");
  target.colour = value;
  return {};
}
constexpr ConfKey<Target> kKeys[] = {
    {"Colour", ConfHandling::kHonoured, {}, {}, &set_colour, nullptr},
    {"Polish", ConfHandling::kNoEffect, "nothing shines", {}, nullptr, nullptr},
    {"Wheels", ConfHandling::kRefused, "it stands still", "0|None", nullptr, nullptr},
    {"Sails", ConfHandling::kRefused, "there is no wind", {}, nullptr, nullptr},
};

constexpr std::span<const ConfKey<Target>> kAll(kKeys);

std::string applied(std::string_view name, std::string_view value) {
  Target target;
  const Status status = apply_conf_key(kAll, name, value, target);
  return status.has_value() ? "set: " + target.colour : status.error().text();
}

TEST(ConfKey, IsFoundInAnyCase) {
  EXPECT_EQ(find_conf_key(kAll, "COLOUR"), &kKeys[0]);
  EXPECT_EQ(find_conf_key(kAll, "Colours"), nullptr);
  EXPECT_EQ(find_conf_key(kAll, ""), nullptr);
  EXPECT_EQ(applied("colour", "red"), "set: red");
}

TEST(ConfKey, AnUnknownOneIsAnErrorThatNamesTheNearest) {
  EXPECT_EQ(applied("Color", "red"), "unknown key 'Color': the nearest known key is Colour");
  EXPECT_EQ(applied("Engine", "1"), "unknown key 'Engine': see slurm.conf(5) for the keys");
}

TEST(ConfKey, ABadValueIsShownWithItsKeyAsItIsSpelt) {
  EXPECT_EQ(applied("colour", "mauve"), "Colour=mauve: no such colour: write red");
}

TEST(ConfKey, WhatHasNoEffectIsTakenWhateverItsValue) {
  EXPECT_EQ(applied("Polish", ""), "set: ");
  EXPECT_EQ(applied("Polish", "much"), "set: ");
}

TEST(ConfKey, ARefusedKeyPassesWhereItAsksForNothing) {
  EXPECT_EQ(applied("Wheels", "0"), "set: ");
  EXPECT_EQ(applied("wheels", "NONE"), "set: ");
  for (const char* value : {"4", "", "0|None", "00"}) {
    EXPECT_EQ(applied("Wheels", value),
              "Wheels=" + std::string(value) + " is not supported: it stands still");
  }
  EXPECT_EQ(applied("Sails", ""), "Sails= is not supported: there is no wind");
  Target target;
  EXPECT_EQ(apply_conf_key(kAll, "Sails", "2", target).error().code, ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace muster
