// Batch scripts and the options in their heads: what anybody submits.
#include "cli/slurm/submit_options.h"
#include "fuzz/fuzz.h"
#include "slurm/batch_script.h"
#include "text/time_zone.h"

namespace muster::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> all = {
      "#!/bin/bash\n#SBATCH -J name -N2 --ntasks-per-node=4\n#SBATCH --gres=gpu:h100:2 -t "
      "1-2:03:04 # said so\n\nsrun hostname\n",
      "#!/bin/sh\n#SBATCH --output=\"logs/%x-%j.out\" --array=1-10:2%3\n#PBS -N x\n#SBATCH -d "
      "afterok:1:2?after:3+5\n",
      "#!/bin/bash\r\n#SBATCH --mem=4G\r\n",
      "#!/usr/bin/env python3\n#SBATCH -n 4\n#SBATCH hetjob\n#SBATCH -n 2\n",
      "#!/bin/sh\n#SBATCH --export=ALL,A='b c',D=\\\"x --signal=B:USR1@60 --begin=now+1hour "
      "--deadline=2030-01-01 -m block:cyclic --hint=nomultithread\n",
  };
  std::string every = "#!/bin/sh\n";
  for (const cli::SubmitRow& row : cli::submit_rows())
    every += std::string("#SBATCH --") + row.name +
             (row.takes == cli::Takes::kNothing ? "" : "=1") + "\n";
  all.push_back(every);
  return all;
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view script = fuzz::bytes_of(data, size);
  (void)check_batch_script(script, 4 << 20);
  const auto directives = parse_batch_directives(script);
  if (!directives.has_value()) return 0;
  for (const DirectiveLine& line : directives->lines) {
    // Each row's own reader; words that name no option are the command line's to refuse.
    for (const std::string& word : line.words) {
      const std::size_t sign = word.find('=');
      const std::string name = word.substr(0, sign);
      for (const cli::SubmitRow& row : cli::submit_rows()) {
        if (row.set == nullptr || name != std::string("--") + row.name) continue;
        static const FixedZone kZone;
        cli::SubmitOptions options;
        options.context.now = TimePoint::from_seconds(1'700'000'000);
        options.context.zone = &kZone;
        (void)row.set(options, sign == word.npos ? "" : std::string_view(word).substr(sign + 1));
      }
    }
  }
  return 0;
}
