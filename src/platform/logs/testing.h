// A book that watches one trial, and pieces of its output: for tests. Not for production code.
#pragma once

#include <memory>
#include <string>

#include "platform/logs/log_book.h"
#include "state/testing.h"

namespace muster::testing {

/// Returns the batch that makes experiment 1 with trial 1, whose job is 1. `more`: fields of the
/// configuration, each with a comma behind it.
EventBatch watched_trial(const std::string& more = "");
EventBatch batch_of(EventBody body);

/// Returns a piece of run 1, rank 0, standard output.
LogFragment piece_of(const std::string& bytes, std::uint64_t offset = 0);

}  // namespace muster::testing
