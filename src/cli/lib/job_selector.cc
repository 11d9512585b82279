// Ids of jobs as users write them and as Slurm shows them: 12, 12_3, 12_[1-5%2], 12.0, 12.batch.
// An id means a job, elements of an array or a step; which of them a command takes is its own to
// say.

#include "cli/lib/job_selector.h"

#include <fmt/format.h>

#include "slurm/array_text.h"
#include "slurm/file_pattern.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// Array indices are never larger, whatever MaxArraySize says.
/// The largest that slurm.conf(5) lets MaxArraySize be: indices stay below it.
constexpr std::uint32_t kArrayIndexEnd = 4'000'001;

tl::unexpected<Error> invalid_id(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, "Invalid job id specified", fmt::format("'{}'", text));
}

std::optional<std::uint32_t> parse_step(std::string_view text) {
  // "batch", "extern", "interactive": the names come from step_text, so that both ways agree.
  for (const std::uint32_t step : {kBatchStep, kExternStep, kInteractiveStep}) {
    if (text == step_text(step)) return step;
  }
  return parse_whole32(text, kInteractiveStep - 1);
}

}  // namespace

Result<JobSelector> parse_job_selector(std::string_view text) {
  JobSelector selector;
  std::string_view rest = trim(text);
  if (const auto dot = rest.find('.'); dot != std::string_view::npos) {
    selector.step = parse_step(rest.substr(dot + 1));
    if (!selector.step) return invalid_id(text);
    rest = rest.substr(0, dot);
  }
  if (const auto mark = rest.find('_'); mark != std::string_view::npos) {
    const std::string_view indices = rest.substr(mark + 1);
    // 12_*: the record of what waits and all elements, as 12 alone would mean.
    if (indices != "*") {
      auto array = parse_array(indices, kArrayIndexEnd);
      if (!array.has_value()) return invalid_id(text);
      selector.indices = std::move(array->indices);
      selector.is_element = true;
    }
    rest = rest.substr(0, mark);
  }
  const auto number = parse_whole32(rest);
  if (!number || *number == 0) return invalid_id(text);
  selector.job = JobId(*number);
  return selector;
}

std::vector<std::string_view> split_job_ids(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  // A comma within brackets separates indices: 12_[1,3],15 is two jobs.
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size();
    if (!is_end && text[i] == '[') ++depth;
    if (!is_end && text[i] == ']') --depth;
    if (is_end || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trim(text.substr(begin, i - begin));
      if (!part.empty()) parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

Result<std::vector<JobSelector>> parse_job_selectors(std::string_view text) {
  std::vector<JobSelector> selectors;
  for (const std::string_view part : split_job_ids(text))
    selectors.push_back(TRY(parse_job_selector(part)));
  return selectors;
}

Result<JobSelector> selector_of(const JobView& job) {
  JobSelector selector;
  selector.job = job.array_job.value() != 0 ? job.array_job : job.id;
  selector.is_element = job.array_job.value() != 0;
  if (job.array_index) {
    selector.indices.set(*job.array_index);
  } else if (selector.is_element) {
    selector.indices = TRY(parse_array(job.array_remaining, kArrayIndexEnd)).indices;
  }
  return selector;
}

std::string selector_text(const JobSelector& selector) {
  std::string text = fmt::to_string(selector.job.value());
  if (selector.is_element) {
    const std::string indices = array_indices_text(selector.indices);
    text += selector.indices.count() == 1 ? "_" + indices : "_[" + indices + "]";
  }
  if (selector.step) text += "." + step_text(*selector.step);
  return text;
}

// As squeue shows it: 12, 12_3, or 12_[4-9%2] for what waits of an array.
std::string job_id_text(const JobView& job, std::size_t array_text_max) {
  if (job.array_job.value() == 0) return fmt::to_string(job.id.value());
  if (job.array_index) return fmt::format("{}_{}", job.array_job.value(), *job.array_index);
  std::string left = job.array_remaining;
  if (job.array_throttle != 0) left += fmt::format("%{}", job.array_throttle);
  return fmt::format("{}_[{}]", job.array_job.value(),
                     cut_array_text(std::move(left), array_text_max));
}

std::string step_id_text(const StepView& step) {
  const std::string job = step.array_index && step.array_job.value() != 0
                              ? fmt::format("{}_{}", step.array_job.value(), *step.array_index)
                              : fmt::to_string(step.id.job.value());
  return job + "." + step_text(step.id.step);
}

// Batch, extern and interactive before numbered steps, as sacct lists them.
std::uint32_t step_rank(std::uint32_t step) {
  switch (step) {
    case kBatchStep: return 0;
    case kExternStep: return 1;
    case kInteractiveStep: return 2;
    default: return step + 3;
  }
}

}  // namespace muster::cli
