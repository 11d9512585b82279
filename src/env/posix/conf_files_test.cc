// What a configuration was when it was read stands, whatever becomes of its files.
#include "env/posix/conf_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class ConfFilesTest : public testing::Test {
 protected:
  ConfFilesTest() {
    char pattern[] = "/tmp/conf_files.XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~ConfFilesTest() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(ConfFilesTest, ATextThatWasReadStands) {
  const std::string path = write("slurm.conf", "Include nodes.conf\n");
  write("nodes.conf", "NodeName=n1\n");
  ConfFiles files;
  EXPECT_EQ(files.read(path).value(), "Include nodes.conf\n");
  const auto read = [&](ConfFiles& from) {
    return include_reader(path, [&](const std::string& whole) { return from.read(whole); });
  };
  EXPECT_EQ(read(files)("nodes.conf").value(), "NodeName=n1\n");
  fs::remove(path);
  write("nodes.conf", "NoSuchKey=1\n");
  EXPECT_EQ(read(files)("nodes.conf").value(), "NodeName=n1\n");

  int asked = 0;
  ConfFiles next(
      [&](const std::string&) -> Status {
        ++asked;
        return fail(ErrorCode::kFailedPrecondition, "anybody may write it");
      },
      parse_conf_texts(conf_texts_bytes(files.texts())));
  EXPECT_EQ(next.texts(), files.texts());
  EXPECT_EQ(next.read(path).value(), "Include nodes.conf\n") << "the next run has it";
  EXPECT_EQ(read(next)(folder_.string() + "/nodes.conf").value(), "NodeName=n1\n");
  EXPECT_EQ(asked, 0) << "what was read was checked then";
  EXPECT_EQ(read(next)("other.conf").error().message, "anybody may write it");
  EXPECT_EQ(next.texts(), files.texts()) << "what is refused is not kept";
}

TEST_F(ConfFilesTest, NamesTheFileThatIsNotThere) {
  ConfFiles files;
  EXPECT_EQ(files.read(folder_ / "none").error().text(),
            "cannot read " + (folder_ / "none").string() + ": No such file or directory");
}

TEST_F(ConfFilesTest, ReadsNothingButFiles) {
  ConfFiles files;
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder_.string(), pipe.string(), std::string("/dev/null")}) {
    const auto text = files.read(path);
    ASSERT_FALSE(text.has_value()) << path;
    EXPECT_EQ(text.error().text(), "cannot read " + path + ": it is no regular file");
  }
  EXPECT_EQ(files.texts(), ConfTexts());
  const std::string large(200'000, 'x');
  EXPECT_EQ(files.read(write("large", large)).value(), large);
}

TEST(ConfTexts, BytesThatAreNoTextsAreNone) {
  const ConfTexts texts{{"", "empty path"}, {"/a:1", "3:abc\n\0x"}, {"/b", ""}};
  const std::string bytes = conf_texts_bytes(texts);
  EXPECT_EQ(parse_conf_texts(bytes), texts);
  EXPECT_EQ(parse_conf_texts(""), ConfTexts());
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    const ConfTexts left = parse_conf_texts(std::string_view(bytes).substr(0, cut));
    EXPECT_LT(left.size(), texts.size()) << cut;
  }
  for (const char* bad : {"x", "4:abc", "1", ":", "-1:a1:b", "1:a99999999999999999999:b"})
    EXPECT_EQ(parse_conf_texts(bad), ConfTexts()) << bad;
}

}  // namespace
}  // namespace muster
