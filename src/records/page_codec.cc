#include "records/page_codec.h"

#include "records/bytes.h"
#include "records/wire_records.h"

// After the conversions that its templates are to find.
#include "records/fields.h"

namespace muster::records {
namespace {

template <class Schema, class T>
std::string encode(const T& value) {
  capnp::MallocMessageBuilder message;
  records::write(message.initRoot<Schema>(), value);
  return message_bytes(message);
}

template <class Schema, class T>
Result<T> decode(std::string_view bytes) {
  T value;
  TRY(with_message<Schema>(bytes,
                           [&](typename Schema::Reader root) { records::read(root, value); }));
  return value;
}

/// Room for a page in one segment: pages of several are slower to write and to read.
constexpr std::size_t kWordsPerObject = 112;
constexpr std::size_t kWordsPerRow = 32;

}  // namespace

std::string encode_page(const Page& value, QueryDetail detail) {
  const std::size_t objects = value.jobs.size() + value.steps.size() + value.nodes.size();
  const std::size_t words = detail == QueryDetail::kRow ? kWordsPerRow : kWordsPerObject;
  capnp::MallocMessageBuilder message(static_cast<unsigned>(1024 + objects * words));
  auto builder = message.initRoot<schema::Page>();
  const auto job_count = static_cast<unsigned>(value.jobs.size());
  if (detail == QueryDetail::kRow) {
    auto rows = builder.initRows(job_count);
    for (unsigned i = 0; i < job_count; ++i) write(rows[i], value.jobs[i]);
  } else {
    const std::uint64_t texts = detail == QueryDetail::kBrief ? kBriefTexts : ~0ULL;
    auto jobs = builder.initJobs(job_count);
    for (unsigned i = 0; i < job_count; ++i) write(jobs[i], value.jobs[i], texts);
  }
  MUSTER_WRITE_L(steps, Steps)
  MUSTER_WRITE_L(nodes, Nodes)
  MUSTER_WRITE_L(partitions, Partitions)
  MUSTER_WRITE_P(settings, Settings)
  MUSTER_WRITE_P(ping, Ping)
  MUSTER_WRITE_L(experiments, Experiments)
  MUSTER_WRITE_L(trials, Trials)
  MUSTER_WRITE_L(checkpoints, Checkpoints)
  MUSTER_WRITE_L(documents, Documents)
  builder.setBytes(
      kj::arrayPtr(reinterpret_cast<const kj::byte*>(value.bytes.data()), value.bytes.size()));
  return message_bytes(message);
}

Result<Page> decode_page(std::string_view bytes) {
  Page value;
  TRY(with_message<schema::Page>(bytes, [&](schema::Page::Reader reader) {
    for (const auto job : reader.getJobs()) read(job, value.jobs.emplace_back());
    for (const auto row : reader.getRows()) read(row, value.jobs.emplace_back());
    MUSTER_READ_L(steps, Steps)
    MUSTER_READ_L(nodes, Nodes)
    MUSTER_READ_L(partitions, Partitions)
    MUSTER_READ_P(settings, Settings)
    MUSTER_READ_P(ping, Ping)
    MUSTER_READ_L(experiments, Experiments)
    MUSTER_READ_L(trials, Trials)
    MUSTER_READ_L(checkpoints, Checkpoints)
    MUSTER_READ_L(documents, Documents)
    const auto data = reader.getBytes();
    value.bytes.assign(reinterpret_cast<const char*>(data.begin()), data.size());
  }));
  return value;
}

Status each_job(std::string_view bytes, const std::function<void(JobView&)>& visit) {
  return with_message<schema::Page>(bytes, [&](schema::Page::Reader reader) {
    const auto visit_all = [&visit](auto list) {
      for (const auto wire : list) {
        JobView job;
        read(wire, job);
        visit(job);
      }
    };
    visit_all(reader.getJobs());
    visit_all(reader.getRows());
  });
}

std::string encode_query(const Query& query) { return encode<schema::Query>(query); }
std::string encode_message(const ToAgent& message) { return encode<schema::AgentMessage>(message); }
std::string encode_message(const FromAgent& message) {
  return encode<schema::AgentMessage>(message);
}
Result<ToAgent> decode_to_agent(std::string_view bytes) {
  return decode<schema::AgentMessage, ToAgent>(bytes);
}
Result<FromAgent> decode_from_agent(std::string_view bytes) {
  return decode<schema::AgentMessage, FromAgent>(bytes);
}
std::string encode_job(const JobView& job) { return encode<schema::JobView>(job); }
Result<JobView> decode_job(std::string_view bytes) {
  return decode<schema::JobView, JobView>(bytes);
}
std::string encode_step(const StepView& step) { return encode<schema::StepView>(step); }
Result<StepView> decode_step(std::string_view bytes) {
  return decode<schema::StepView, StepView>(bytes);
}

}  // namespace muster::records
