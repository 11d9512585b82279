// Pages of query answers, queries, messages between supervisor and agent, and history's rows, as
// bytes. Every decode_… and each_job fails with kCorruption when the bytes are no such record, or
// one of a newer version; none reads bytes beyond those given.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/view.h"

namespace muster::records {

/// Returns the page's bytes, with as much of each job as `detail` says: a row, the brief texts, or
/// everything. `detail` concerns jobs alone. Requires with kRow: every job has a specification.
std::string encode_page(const Page& page, QueryDetail detail = QueryDetail::kFull);
/// Returns the page. Rows come back as jobs whose other members are unset.
Result<Page> decode_page(std::string_view bytes);

/// Calls `visit` with the page's jobs one after the other, so that a long list need not lie in
/// memory as a whole. On an error some may have been visited. Lifetime: a job is valid during its
/// call.
Status each_job(std::string_view bytes, const std::function<void(JobView&)>& visit);

/// Returns the query's bytes. Determinism: equal queries have equal bytes, so that the bytes can be
/// a cache's key.
std::string encode_query(const Query& query);

std::string encode_message(const ToAgent& message);
std::string encode_message(const FromAgent& message);
/// Returns the message. Errors: a message for the other direction is kCorruption as well.
Result<ToAgent> decode_to_agent(std::string_view bytes);
Result<FromAgent> decode_from_agent(std::string_view bytes);

/// Returns the bytes of one job or step as history stores it, with every detail.
std::string encode_job(const JobView& job);
Result<JobView> decode_job(std::string_view bytes);
std::string encode_step(const StepView& step);
Result<StepView> decode_step(std::string_view bytes);

}  // namespace muster::records
