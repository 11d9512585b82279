#include "controller/gateway/query_replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codec/conf_shown.h"
#include "codec/config_secrets.h"
#include "controller/frontend/trial_access.h"
#include "codec/hostlist.h"
#include "controller/frontend/frontend.h"
#include "controller/gateway/page_writer.h"
#include "records/page_codec.h"
#include "state/views.h"

namespace muster {
namespace {

constexpr std::size_t kNodesPerPage = 1024;
/// Different queries remembered at once.
constexpr std::size_t kCacheMax = 256;

/// Whether some of what it shows is shown to its owner alone.
bool depends_on_reader(const Query& query) { return query.kind == QueryKind::kExperiments || query.kind == QueryKind::kCheckpoints || query.kind == QueryKind::kTrials; }

Error no_experiment(ExperimentId id) {
  return Error{ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()), "see muster experiment list"};
}

}  // namespace

void QueryReplica::apply(const EventBatch& batch) {
  state_.apply(batch);
  for (const Event& event : batch.events) users_.on_event(event, state_);
  ++change_;
}

void QueryReplica::set_report(std::shared_ptr<const PlanReport> report) {
  report_ = std::move(report);
  ++change_;
}

void QueryReplica::set_node_facts(std::vector<NodeFact> facts) {
  node_facts_ = std::move(facts);
  ++facts_change_;
}

JobView QueryReplica::job_view(const Job& job, QueryDetail detail) const {
  const Reasons* reasons = job.is_pending() && report_ != nullptr ? report_->find(job.id) : nullptr;
  JobView view = view_of(job, state_, detail, reasons);
  if (reasons != nullptr && !reasons->planned_nodes.empty()) {
    std::vector<std::string> names;
    for (const NodeIndex node : reasons->planned_nodes) names.push_back(state_.nodes().at(node).config.name);
    view.planned_node_list = compress_hostlist(names);
  }
  return view;
}

Result<std::vector<const Job*>> QueryReplica::select(const JobFilter& filter) {
  std::vector<const Job*> jobs;
  if (filter.jobs.empty() && !filter.uids.empty()) {
    jobs = users_.jobs_of(filter.uids, state_);
    std::erase_if(jobs, [&](const Job* job) { return !frontend::matches(state_, *job, filter); });
    return jobs;
  }
  if (filter.jobs.empty()) {
    state_.jobs().for_each([&](const Job& job) {
      if (frontend::matches(state_, job, filter)) jobs.push_back(&job);
    });
    return jobs;
  }
  std::set<JobId> ids;
  for (const JobSelector& selector : filter.jobs) {
    const auto found = frontend::resolve(state_, selector);
    if (found.has_value()) {
      ids.insert(found->begin(), found->end());
    } else if (filter.jobs.size() == 1) {
      return fail(found.error());
    }
  }
  for (const JobId id : ids) {
    const Job* job = state_.jobs().find(id);
    if (job != nullptr && frontend::matches(state_, *job, filter)) jobs.push_back(job);
  }
  return jobs;
}

Result<std::vector<std::string>> QueryReplica::job_pages(const Query& query) {
  const std::vector<const Job*> jobs = TRY(select(query.filter));
  PageWriter writer(query.detail);
  for (const Job* job : jobs) writer.add(job_view(*job, query.detail));
  return std::move(writer).finish();
}

Result<std::vector<std::string>> QueryReplica::step_pages(const Query& query) {
  const std::vector<const Job*> jobs = TRY(select(query.filter));
  PageWriter writer;
  for (const Job* job : jobs) {
    if (job->run == nullptr) continue;
    for (const StepState& step : job->run->steps) {
      if (!query.is_steps || step.is_running()) writer.add(view_of(step, *job, state_));
    }
  }
  return std::move(writer).finish();
}

std::vector<std::string> QueryReplica::node_pages() const {
  std::vector<std::string> pages;
  Page page;
  for (std::size_t i = 0; i < state_.nodes().all().size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    NodeView view = view_of(index, state_);
    if (i < node_facts_.size()) {
      view.last_contact = node_facts_[i].last_contact;
      view.load_hundredths = node_facts_[i].load_hundredths;
      view.free_memory_mib = node_facts_[i].free_memory_mib;
    }
    view.is_planned = report_ != nullptr && std::ranges::binary_search(report_->planned_nodes, index);
    page.nodes.push_back(std::move(view));
    if (page.nodes.size() == kNodesPerPage) pages.push_back(records::encode_page(std::exchange(page, {})));
  }
  pages.push_back(records::encode_page(page));
  return pages;
}

std::string QueryReplica::one_page(const Query& query) const {
  Page page;
  if (query.kind == QueryKind::kPartitions) {
    for (const PartitionConfig& partition : state_.partitions()) page.partitions.push_back(view_of(partition, state_));
  } else if (query.kind == QueryKind::kConfig) {
    page.settings = state_.settings();
    if (std::string* next = find_shown(page.settings->shown, "NEXT_JOB_ID")) *next = fmt::format("{}", state_.next_job().value());
    if (std::string* boot = find_shown(page.settings->shown, "BOOT_TIME")) *boot = fmt::format("{}", boot_time_.seconds());
  } else {
    page.ping = PingView{host_, version_, true, state_.seq(), state_.hash(), state_.epoch(), http_address_};
  }
  return records::encode_page(page);
}

Result<Pages> QueryReplica::answer(const Identity& reader, const Query& query) {
  std::string key = records::encode_query(query);
  if (depends_on_reader(query)) key += fmt::format(" {} {}", reader.user.value(), reader.is_operator);
  const std::uint64_t change = change_ + (query.kind == QueryKind::kNodes ? facts_change_ : 0);
  if (const auto found = cache_.find(key); found != cache_.end() && found->second.change == change) {
    return found->second.pages;
  }
  std::vector<std::string> pages;
  switch (query.kind) {
    case QueryKind::kJobs: pages = TRY(job_pages(query)); break;
    case QueryKind::kSteps: pages = TRY(step_pages(query)); break;
    case QueryKind::kNodes: pages = node_pages(); break;
    case QueryKind::kExperiments: pages = TRY(experiment_pages(reader, query)); break;
    case QueryKind::kTrials: pages = TRY(trial_pages(reader, query)); break;
    case QueryKind::kCheckpoints: pages = TRY(checkpoint_pages(reader, query)); break;
    case QueryKind::kDocuments: pages = TRY(document_pages(query)); break;
    default: pages.push_back(one_page(query)); break;
  }
  if (cache_.size() >= kCacheMax) cache_.clear();
  auto shared = std::make_shared<const std::vector<std::string>>(std::move(pages));
  cache_[key] = Cached{shared, change};
  return Pages(shared);
}

Result<std::vector<std::string>> QueryReplica::experiment_pages(const Identity& reader, const Query& query) const {
  PageWriter writer;
  const auto show = [&](const Experiment& experiment) {
    ExperimentView view = view_of(experiment, state_, query.detail);
    view.spec = spec_shown_to(reader, view.spec, frontend::readers_of(state_, experiment).has(reader));
    writer.add(std::move(view));
  };
  for (const ExperimentId id : query.experiments) {
    const Experiment* experiment = state_.experiments().find(id);
    if (experiment == nullptr) return fail(no_experiment(id));
    show(*experiment);
  }
  if (query.experiments.empty()) {
    for (const auto& [id, experiment] : state_.experiments().experiments()) show(experiment);
  }
  return std::move(writer).finish();
}

Result<std::vector<TrialId>> QueryReplica::trials_of(const Query& query) const {
  std::vector<TrialId> ids = query.trials;
  for (const ExperimentId id : query.experiments) {
    const Experiment* experiment = state_.experiments().find(id);
    if (experiment == nullptr) return fail(no_experiment(id));
    ids.insert(ids.end(), experiment->trials.begin(), experiment->trials.end());
  }
  return ids;
}

Result<std::vector<std::string>> QueryReplica::checkpoint_pages(const Identity& reader, const Query& query) const {
  PageWriter writer;
  const auto show = [&](const Checkpoint& checkpoint) {
    Checkpoint shown = checkpoint;
    const Experiment& experiment = *state_.experiments().find(state_.experiments().find(checkpoint.trial)->experiment);
    // The names of its files are as private as the code that wrote them.
    if (!frontend::readers_of(state_, experiment).has(reader)) shown.resources = "{}";
    writer.add(std::move(shown));
  };
  for (const std::string& uuid : query.uuids) {
    const CheckpointRef checkpoint = state_.checkpoints().find(uuid);
    if (checkpoint == nullptr) return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
    show(*checkpoint);
  }
  const std::vector<TrialId> trials = TRY(trials_of(query));
  for (const TrialId trial : trials) {
    for (const CheckpointRef& checkpoint : state_.checkpoints().of(trial)) show(*checkpoint);
  }
  return std::move(writer).finish();
}

Result<std::vector<std::string>> QueryReplica::document_pages(const Query& query) const {
  std::vector<DocumentRef> documents;
  for (const std::uint32_t id : query.documents) {
    documents.push_back(state_.catalog().find(query.document_kind, id));
    if (documents.back() == nullptr) return fail(ErrorCode::kNotFound, fmt::format("there is no document {}", id), "");
  }
  if (query.documents.empty()) documents = state_.catalog().all(query.document_kind);
  PageWriter writer;
  for (const DocumentRef& document : documents) writer.add(*document);
  return std::move(writer).finish();
}

Result<std::vector<std::string>> QueryReplica::trial_pages(const Identity& reader, const Query& query) const {
  const std::vector<TrialId> ids = TRY(trials_of(query));
  PageWriter writer;
  for (const TrialId id : ids) {
    const Trial* trial = state_.experiments().find(id);
    if (trial == nullptr) return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), "see muster experiment describe");
    TrialView view = view_of(*trial, state_);
    if (!frontend::readers_of(state_, *state_.experiments().find(trial->experiment)).has(reader)) {
      view.folder.clear();
      view.log_matches.clear();  // they are lines of its output
    }
    writer.add(std::move(view));
  }
  return std::move(writer).finish();
}

bool QueryReplica::has_forgotten_steps(JobId id, std::uint32_t attempt) const {
  const Job* job = state_.jobs().find(id);
  return job != nullptr && job->attempt == attempt && job->run != nullptr && job->run->forgotten.count != 0;
}

std::vector<std::pair<JobView, std::vector<StepView>>> QueryReplica::live_history(
    const Query& query, const std::function<bool(JobId, std::uint32_t)>& is_stored) {
  std::vector<std::pair<JobView, std::vector<StepView>>> result;
  JobFilter all = query.filter;
  if (all.jobs.size() == 1) all.jobs.push_back(all.jobs.front());  // an unknown id is no error here
  const auto jobs = select(all);
  for (const Job* job : jobs.value_or(std::vector<const Job*>{})) {
    if (job->is_over() && is_stored(job->id, job->attempt)) continue;
    const TimePoint end = job->is_over() ? job->end_time : TimePoint::never();
    if (end < query.since || (query.until.is_set() && job->submit_time > query.until)) continue;
    std::vector<StepView> steps;
    if (query.is_steps && job->run != nullptr) {
      for (const StepState& step : job->run->steps) steps.push_back(view_of(step, *job, state_));
    }
    result.emplace_back(job_view(*job, QueryDetail::kFull), std::move(steps));
  }
  return result;
}

}  // namespace muster
