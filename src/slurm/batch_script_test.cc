#include "slurm/batch_script.h"

#include <gtest/gtest.h>

#include "text/words.h"

namespace muster {
namespace {

// "2: -J a | 3: -p b"
std::string directives(const std::string& head) {
  const auto found = parse_batch_directives("#!/bin/sh\n" + head);
  if (!found.has_value()) return found.error().message;
  std::vector<std::string> parts;
  for (const DirectiveLine& line : found->lines) {
    parts.push_back(std::to_string(line.line) + ": " + join(line.words, "|"));
  }
  return join(parts, "; ");
}

TEST(BatchScript, ChecksAsSbatchDoes) {
  EXPECT_TRUE(check_batch_script("#!/bin/sh\ntrue\n", 1000).has_value());
  EXPECT_TRUE(check_batch_script("#!/bin/sh\necho a\rb\n", 0).has_value());
  const std::pair<std::string, const char*> cases[] = {
      {"", "Batch script is empty!"},
      {" \n\t\n", "Batch script contains only whitespace!"},
      {"echo\n",
       "This does not look like a batch script.  The first\n"
       "line must start with #! followed by the path to an interpreter.\nFor instance: #!/bin/sh"},
      {std::string("#!/bin/sh\n\0", 11),
       "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'."},
      {"#!/bin/sh\r\n",
       "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks "
       "(\\n)."},
      {"#!/bin/sh\n" + std::string(100, 'x'),
       "Pathname of a file, directory or other parameter too long"},
  };
  for (const auto& [script, message] : cases)
    EXPECT_EQ(check_batch_script(script, 100).error().message, message);
}

TEST(BatchScript, TakesWordsApartAsSbatchDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"#SBATCH -J a -p b", "2: -J|a|-p|b"},
      {"#SBATCH --job-name=x\n#SBATCH\t-n 4", "2: --job-name=x; 3: -n|4"},
      {"#SBATCH-Jx", "2: -Jx"},
      {"#SBATCHX -J g", "2: X|-J|g"},
      {"#SBATCH -J a#b", "2: -J|a"},
      {"#SBATCH -J ab # c", "2: -J|ab"},
      {"#SBATCH -J \"a # b\"", "2: -J|a # b"},
      {"#SBATCH -J a\"b c\"d", "2: -J|ab cd"},
      {"#SBATCH -J 'a\\b'", "2: -J|ab"},
      {"#SBATCH -J a\\ -p b", "2: -J|a|-p|b"},
      {"#SBATCH -J a\\\"b", "2: -J|a\"b"},
      {"#SBATCH -J \"a\\\"b\"", "2: -J|a\"b"},
      {"#SBATCH -J \"a\\#b\" -p x\\#y", "2: -J|a#b|-p|x#y"},
      {"#SBATCH -J 'a\"b' --comment=\"x 'y' z\"", "2: -J|a\"b|--comment=x 'y' z"},
      {"#SBATCH -J \"\" -p z", "2: -J||-p|z"},
      {"#SBATCH -J a\\", "2: -J|a"},
      {"#SBATCH\n#SBATCH # nothing", ""},
      {" #SBATCH -J indented", ""},
      {"##SBATCH -J x", ""},
      {"\n\n  # c\n#SBATCH -J x", "5: -J|x"},
      {"echo\n#SBATCH -J late", ""},
      {"#SBATCH -J \"unclosed", "line 2: Unmatched `\"` in [ -J \"unclosed]"},
  };
  for (const auto& [head, expected] : cases) EXPECT_EQ(directives(head), expected) << head;
}

TEST(BatchScript, ReportsComponentsAndOtherSystems) {
  const BatchDirectives found = parse_batch_directives(
                                    "#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n "
                                    "2\n#SBATCH packjob\n#PBS -N x\n#BSUB -n 1\n")
                                    .value();
  EXPECT_EQ(found.lines.size(), 2U);
  EXPECT_EQ(found.component_lines, (std::vector<std::size_t>{3, 5}));
  EXPECT_TRUE(found.has_pbs);
  EXPECT_TRUE(found.has_bsub);
  EXPECT_EQ(parse_batch_directives("#!/bin/sh\ntrue\n#PBS -N x\n").value(), BatchDirectives{});
}

}  // namespace
}  // namespace muster
