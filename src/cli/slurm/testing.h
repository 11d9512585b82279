// Command lines as sbatch, srun and salloc read them. Not for production code.
#pragma once

#include <gtest/gtest.h>

#include "cli/lib/testing.h"
#include "cli/slurm/job_request.h"
#include "cli/slurm/submit_options.h"

namespace muster::cli::testing {

/// What came of the words of a command line.
struct Read {
  SubmitOptions options;
  ReadWords words;
};

inline Read read(Submitter by, const Words& words) {
  Read result;
  result.options.by = by;
  result.options.context = test_context();
  const Console console("sbatch");
  result.words = SubmitReader(console, result.options).read(words, OptionSource::kCommandLine);
  return result;
}

/// Returns the options that a command goes by. Requires: the words are right.
inline SubmitOptions completed(Submitter by, const Words& words) {
  Read result = read(by, words);
  EXPECT_FALSE(result.words.exit_code.has_value());
  Words warnings;
  EXPECT_TRUE(complete_request(result.options, warnings).has_value());
  return result.options;
}

}  // namespace muster::cli::testing
