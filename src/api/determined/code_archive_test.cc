#include "api/determined/code_archive.h"

#include <gtest/gtest.h>

#include <string>

#include "text/base64.h"
#include "trials/trial_text.h"

namespace muster::api {
namespace {

Json file_item(const char* path, std::string_view content, int type = 48) {
  return Json::Object{{"path", path},
                      {"type", type},
                      {"content", base64_text(content)},
                      {"mode", 33188},
                      {"mtime", "1795347451"}};
}

TEST(CodeArchive, IsInTheScriptAsItWasSent) {
  const Json files = Json::Array{file_item("train.py", "print(1)\n"), file_item("lib", "", 53),
                                 file_item("lib/a.bin", std::string(70'000, 'x'))};
  const std::string archive = archive_of(files).value();
  EXPECT_EQ(archive, archive_of(files).value()) << "equal code has equal bytes";
  EXPECT_TRUE(archive.starts_with("\x1f\x8b"));
  const std::string script = trial_script(archive);
  EXPECT_EQ(archive_in(script), archive);
  EXPECT_EQ(archive_text(script).value(), base64_text(archive));
  EXPECT_EQ(archive_in(trial_script("")), "");
}

TEST(CodeArchive, RefusesWhatLeadsOut) {
  for (const char* path : {"../x", "/etc/passwd", "a/../../b", ""}) {
    EXPECT_FALSE(archive_of(Json::Array{file_item(path, "x")}).has_value()) << path;
  }
  EXPECT_FALSE(archive_of(Json::Array{file_item("link", "x", 50)}).has_value());
  EXPECT_FALSE(archive_of(Json("x")).has_value());
  EXPECT_TRUE(archive_of(Json::Array{file_item("..a/b..", "x")}).has_value());
}

}  // namespace
}  // namespace muster::api
