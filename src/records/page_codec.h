// Pages of query answers, and messages between supervisor and agent, as bytes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/view.h"

namespace muster::records {

/// Of the jobs as much as `detail` says. Requires with kRow: every job has a specification.
std::string encode_page(const Page& page, QueryDetail detail = QueryDetail::kFull);
/// Errors: kCorruption.
Result<Page> decode_page(std::string_view bytes);

/// The page's jobs one after the other: a long list need not lie in memory as a whole. Errors:
/// kCorruption; some may have been visited then.
Status each_job(std::string_view bytes, const std::function<void(JobView&)>& visit);

/// Equal queries have equal bytes.
std::string encode_query(const Query& query);

std::string encode_message(const ToAgent& message);
std::string encode_message(const FromAgent& message);
/// Errors: kCorruption when the bytes are no message, or one for the other direction.
Result<ToAgent> decode_to_agent(std::string_view bytes);
Result<FromAgent> decode_from_agent(std::string_view bytes);

/// One job or step as history keeps it.
std::string encode_job(const JobView& job);
Result<JobView> decode_job(std::string_view bytes);
std::string encode_step(const StepView& step);
Result<StepView> decode_step(std::string_view bytes);

}  // namespace muster::records
