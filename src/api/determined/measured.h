// Fills lists of trials and checkpoints with what the metric store knows of them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "api/http/api_port.h"

namespace muster::api {

/// Measures the elements from `begin` up to `end`. Requires: add_questions(details, questions) and
/// fill_in(details, answers), which agree. Errors: as the metric store's.
template <class Details>
kj::Promise<Result<std::vector<Details>>> measured(ApiPort& port, std::vector<Details> all,
                                                   std::size_t begin = 0,
                                                   std::size_t end = SIZE_MAX) {
  end = std::min(end, all.size());
  std::vector<MetricQuestion> questions;
  for (std::size_t i = begin; i < end; ++i) add_questions(all[i], questions);
  return port.measure(std::move(questions))
      .then([begin, end, all = std::move(all)](
                Result<MetricAnswers> answers) mutable -> Result<std::vector<Details>> {
        if (!answers.has_value()) return fail(answers.error());
        for (std::size_t i = begin; i < end; ++i) fill_in(all[i], *answers);
        return std::move(all);
      });
}

}  // namespace muster::api
