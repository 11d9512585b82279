// Answers are kept by query until anything changes (change_), so that thousands of pollers who ask
// the same cost one encoding. Lists of jobs are kept slice by slice.
#include "gateway/query_replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "gateway/page_writer.h"
#include "gateway/view_filter.h"
#include "records/page_codec.h"
#include "slurm/conf/conf_shown.h"
#include "slurm/hostlist.h"
#include "state/views.h"
#include "trials/config_secrets.h"
#include "workload/requests/job_requests.h"

namespace muster {
namespace {

constexpr std::size_t kNodesPerPage = 1024;
/// Different queries remembered at once.
constexpr std::size_t kCacheMax = 256;

/// Whether some of what it shows is shown to its owner alone.
// Their answers differ by reader, so that the key of the cache has him.
bool depends_on_reader(const Query& query) {
  return query.kind == QueryKind::kExperiments || query.kind == QueryKind::kCheckpoints ||
         query.kind == QueryKind::kTrials;
}

Error no_experiment(ExperimentId id) {
  return Error{ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()),
               "see muster experiment list"};
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

void QueryReplica::set_node_loads(std::vector<NodeLoad> loads) {
  node_loads_ = std::move(loads);
  ++loads_change_;
}

JobView QueryReplica::job_view(const Job& job, QueryDetail detail) const {
  std::optional<Reasons> reasons;
  if (job.is_pending() && report_ != nullptr) reasons = report_->find(job.id);
  return job_view(job, detail, reasons ? &*reasons : nullptr);
}

JobView QueryReplica::job_view(const Job& job, QueryDetail detail, const Reasons* reasons) const {
  // The time of the plan, as the reasons are.
  const TimePoint now = report_ == nullptr ? TimePoint() : report_->time;
  JobView view = view_of(job, state_, detail, reasons, now);
  if (reasons != nullptr && !reasons->planned_nodes.empty()) {
    std::vector<std::string> names;
    for (const NodeIndex node : reasons->planned_nodes)
      names.push_back(state_.nodes().at(node).config.name);
    view.planned_node_list = compress_hostlist(names);
  }
  return view;
}

Result<std::vector<JobId>> QueryReplica::named_ids(const JobFilter& filter) const {
  std::vector<JobId> ids;
  for (const JobSelector& selector : filter.jobs) {
    const auto found = requests::resolve(state_, selector);
    if (found.has_value()) {
      ids.insert(ids.end(), found->begin(), found->end());
      // Among several ids one that is gone is passed over; alone it is an error, as for squeue.
    } else if (filter.jobs.size() == 1) {
      return fail(found.error());
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<JobListing> QueryReplica::begin_list(const JobFilter& filter) {
  if (filter.jobs.empty()) return JobListing(state_.next_job());
  std::vector<JobId> named = TRY(named_ids(filter));
  return JobListing(state_.next_job(), std::move(named));
}

/// Calls `visit` for the next jobs that match and are on the list, until it answers false or enough
/// have been looked at. Returns how many were.
std::size_t QueryReplica::walk(const JobFilter& filter, JobListing& listing,
                               const std::function<bool(const Job&)>& visit) {
  std::size_t looked = 0;
  JobId next = listing.limit();
  const auto look = [&](const Job& job) {
    if (job.id >= listing.limit()) return false;
    // Counted also where it is not shown: looking costs.
    const bool is_last = ++looked == kLookedMax;
    const bool is_listed =
        listing.shows(job.id, job.array_job) && requests::matches(state_, job, filter);
    const bool is_wanted = !is_listed || visit(job);
    if (is_wanted && !is_last) return true;
    // Where the next slice begins.
    next = JobId(job.id.value() + 1);
    return false;
  };
  const auto look_at_all = [&look](const std::vector<const Job*>& jobs) {
    for (const Job* job : jobs) {
      if (!look(*job)) return;
    }
  };
  if (listing.named()) {
    std::vector<const Job*> jobs;
    const std::vector<JobId>& ids = *listing.named();
    for (auto id = std::ranges::lower_bound(ids, listing.position());
         id != ids.end() && jobs.size() < kLookedMax; ++id) {
      if (const Job* job = state_.jobs().find(*id)) jobs.push_back(job);
    }
    look_at_all(jobs);
    // One user's jobs without a look at all others'.
  } else if (!filter.uids.empty()) {
    look_at_all(users_.jobs_of(filter.uids, listing.position(), kLookedMax, state_));
  } else {
    state_.jobs().for_each_from(listing.position(), look);
  }
  const bool was_second_pass = listing.is_second_pass();
  listing.pass(next, state_.next_job());
  if (listing.named() && listing.is_second_pass() && !was_second_pass) {
    // Elements that have split off since are named by their array.
    listing.set_named(named_ids(filter).value_or(std::vector<JobId>{}));
  }
  return looked;
}

namespace {

/// To look whether a job is wanted costs much less than to show it.
constexpr std::size_t kLooksPerJob = 16;
/// Whether the filter's ids name it. Of an array's record those elements alone stay in its view.
bool is_named(const Job& job, JobView& view, const JobFilter& filter) {
  const bool is_whole = filter.jobs.empty() || job.array == nullptr || job.array_index;
  return is_whole || cut_to_named(view, job.array->remaining.indices, filter);
}

/// Slices that are remembered, in bytes.
constexpr std::size_t kSliceBytesMax = std::size_t{64} << 20;

}  // namespace

ListSlice QueryReplica::make_slice(const Query& query, JobListing& listing,
                                   const std::map<JobId, Reasons>& reasons) {
  const QueryDetail detail = query.detail == QueryDetail::kWhy ? QueryDetail::kFull : query.detail;
  PageWriter writer(query.kind == QueryKind::kJobs ? detail : QueryDetail::kFull);
  std::size_t shown = 0;
  const std::size_t looked = walk(query.filter, listing, [&](const Job& job) {
    if (query.kind == QueryKind::kJobs) {
      const auto found = reasons.find(job.id);
      const bool is_reported =
          found != reasons.end() && found->second.word != PendingReason::kNone && job.is_pending();
      JobView view = is_reported ? job_view(job, detail, &found->second) : job_view(job, detail);
      if (!is_named(job, view, query.filter)) return true;
      writer.add(std::move(view));
      ++shown;
    } else if (job.run != nullptr) {
      for (const StepState& step : job.run->steps) {
        if (query.is_steps && !step.is_running()) continue;
        writer.add(view_of(step, job, state_));
        ++shown;
      }
    }
    return shown < kShownMax && !writer.is_full();
  });
  ListSlice slice;
  slice.cost = shown + looked / kLooksPerJob;
  if (!writer.is_empty())
    slice.pages = std::make_shared<const std::vector<std::string>>(std::move(writer).finish());
  return slice;
}

ListSlice QueryReplica::next_slice(const Query& query, JobListing& listing,
                                   const std::map<JobId, Reasons>& reasons) {
  // In the second pass, and once jobs have come in, a slice is this list's own.
  const bool is_shared = !listing.named() && reasons.empty() && !listing.is_second_pass() &&
                         listing.limit() == state_.next_job();
  if (!is_shared) return make_slice(query, listing, reasons);
  if (slices_change_ != change_) {
    slices_.clear();
    slice_bytes_ = 0;
    slices_change_ = change_;
  }
  // The same query at the same position, until anything changes.
  std::string key = records::encode_query(query) + fmt::format(" {}", listing.position().value());
  if (const auto found = slices_.find(key); found != slices_.end()) {
    const CachedSlice& known = found->second;
    // This list has come as far as the one that the slice was made for.
    listing.pass(known.end, state_.next_job());
    // To send a slice that is there costs little of a turn.
    return {known.slice.pages, known.slice.cost / kLooksPerJob};
  }
  ListSlice slice = make_slice(query, listing, reasons);
  remember(std::move(key), {slice, listing.position()});
  return slice;
}

void QueryReplica::remember(std::string key, CachedSlice made) {
  std::size_t bytes = key.size() + sizeof made;
  if (made.slice.pages != nullptr) {
    for (const std::string& page : *made.slice.pages) bytes += page.size();
  }
  // Dropped whole: after the next change they are void anyway.
  if (slice_bytes_ + bytes > kSliceBytesMax) {
    slices_.clear();
    slice_bytes_ = 0;
  }
  slice_bytes_ += bytes;
  slices_.emplace(std::move(key), std::move(made));
}

std::size_t QueryReplica::add_waiting(const JobFilter& filter, JobListing& listing,
                                      std::size_t count_max, std::vector<JobId>& waiting) {
  const std::size_t looked = walk(filter, listing, [&](const Job& job) {
    if (job.is_pending()) waiting.push_back(job.id);
    return waiting.size() < count_max;
  });
  return looked / kLooksPerJob;
}

std::size_t QueryReplica::read_live(HistoryListing& listing) {
  const Query& query = listing.query;
  std::size_t shown = 0;
  const std::size_t looked = walk(query.filter, listing.memory, [&](const Job& job) {
    const TimePoint end = job.is_over() ? job.end_time : TimePoint::never();
    // Outside the time that was asked for.
    if (end < query.since || (query.until.is_set() && job.submit_time > query.until)) return true;
    HistoryRun run;
    run.job = job_view(job, QueryDetail::kFull);
    if (query.is_steps && job.run != nullptr) {
      for (const StepState& step : job.run->steps) run.steps.push_back(view_of(step, job, state_));
      std::ranges::sort(run.steps, {}, &StepView::id);
      // Jobs of very many steps keep the last ones alone in memory.
      run.has_stored_steps = !run.steps.empty() && job.run->forgotten.count != 0;
    }
    shown += 1 + run.steps.size();
    listing.live.push_back(std::move(run));
    // A slice of memory is bounded like one of a list.
    return shown < kShownMax;
  });
  listing.is_caught_up = false;
  return shown + looked / kLooksPerJob;
}

std::vector<std::string> QueryReplica::node_pages() const {
  std::vector<std::string> pages;
  Page page;
  for (std::size_t i = 0; i < state_.nodes().all().size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    NodeView view = view_of(index, state_);
    if (i < node_loads_.size()) {
      view.last_contact = node_loads_[i].last_contact;
      view.load_hundredths = node_loads_[i].load_hundredths;
      view.free_memory_mib = node_loads_[i].free_memory_mib;
    }
    view.is_planned =
        report_ != nullptr && std::ranges::binary_search(report_->planned_nodes, index);
    page.nodes.push_back(std::move(view));
    if (page.nodes.size() == kNodesPerPage)
      pages.push_back(records::encode_page(std::exchange(page, {})));
  }
  pages.push_back(records::encode_page(page));
  return pages;
}

std::string QueryReplica::one_page(const Query& query) const {
  Page page;
  if (query.kind == QueryKind::kPartitions) {
    for (const PartitionConfig& partition : state_.partitions())
      page.partitions.push_back(view_of(partition, state_));
  } else if (query.kind == QueryKind::kConfig) {
    page.settings = state_.settings();
    if (std::string* next = find_shown(page.settings->shown, "NEXT_JOB_ID"))
      *next = fmt::format("{}", state_.next_job().value());
    if (std::string* boot = find_shown(page.settings->shown, "BOOT_TIME"))
      *boot = fmt::format("{}", boot_time_.seconds());
  } else {
    page.ping = PingView{host_,
                         version_,
                         true,
                         state_.seq(),
                         state_.hash(),
                         state_.epoch(),
                         http_address_,
                         state_.cluster_id(),
                         {}};
    for (const std::string& warning : {clock_warning_, disk_warning_, http_warning_}) {
      if (!warning.empty()) page.ping->warnings.push_back(warning);
    }
  }
  return records::encode_page(page);
}

void QueryReplica::set_clock_warning(std::string text) {
  clock_warning_ = std::move(text);
  ++change_;
}

void QueryReplica::set_disk_warning(std::string text) {
  disk_warning_ = std::move(text);
  ++change_;
}

void QueryReplica::set_http_warning(std::string text) {
  http_warning_ = std::move(text);
  ++change_;
}

Result<Pages> QueryReplica::answer(const Identity& reader, const Query& query) {
  std::string key = records::encode_query(query);
  if (depends_on_reader(query))
    key += fmt::format(" {} {}", reader.user.value(), reader.is_operator);
  // Loads change every second and concern answers about nodes alone.
  const std::uint64_t change = change_ + (query.kind == QueryKind::kNodes ? loads_change_ : 0);
  if (const auto found = cache_.find(key);
      found != cache_.end() && found->second.change == change) {
    return found->second.pages;
  }
  std::vector<std::string> pages;
  switch (query.kind) {
    case QueryKind::kNodes: pages = node_pages(); break;
    case QueryKind::kExperiments: pages = TRY(experiment_pages(reader, query)); break;
    case QueryKind::kTrials: pages = TRY(trial_pages(reader, query)); break;
    case QueryKind::kCheckpoints: pages = TRY(checkpoint_pages(reader, query)); break;
    case QueryKind::kDocuments: pages = TRY(document_pages(query)); break;
    default: pages.push_back(one_page(query)); break;
  }
  // Dropped whole: most entries are of an earlier change.
  if (cache_.size() >= kCacheMax) cache_.clear();
  auto shared = std::make_shared<const std::vector<std::string>>(std::move(pages));
  cache_[key] = Cached{shared, change};
  return Pages(shared);
}

Result<std::vector<std::string>> QueryReplica::experiment_pages(const Identity& reader,
                                                                const Query& query) const {
  PageWriter writer;
  const auto show = [&](const Experiment& experiment) {
    ExperimentView view = view_of(experiment, state_, query.detail);
    // What is private in it is cut here, where the reader is known.
    view.spec =
        spec_shown_to(reader, view.spec, access::readers_of(state_, experiment).has(reader));
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

Result<std::vector<std::string>> QueryReplica::checkpoint_pages(const Identity& reader,
                                                                const Query& query) const {
  PageWriter writer;
  const auto show = [&](const Checkpoint& checkpoint) {
    Checkpoint shown = checkpoint;
    const Experiment& experiment =
        *state_.experiments().find(state_.experiments().find(checkpoint.trial)->experiment);
    // The names of its files are as private as the code that wrote them.
    if (!access::readers_of(state_, experiment).has(reader)) shown.resources = "{}";
    writer.add(std::move(shown));
  };
  for (const std::string& uuid : query.uuids) {
    const CheckpointRef checkpoint = state_.checkpoints().find(uuid);
    if (checkpoint == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
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
    if (documents.back() == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no document {}", id), "");
  }
  if (query.documents.empty()) documents = state_.catalog().all(query.document_kind);
  PageWriter writer;
  for (const DocumentRef& document : documents) writer.add(*document);
  return std::move(writer).finish();
}

Result<std::vector<std::string>> QueryReplica::trial_pages(const Identity& reader,
                                                           const Query& query) const {
  const std::vector<TrialId> ids = TRY(trials_of(query));
  PageWriter writer;
  for (const TrialId id : ids) {
    const Trial* trial = state_.experiments().find(id);
    if (trial == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()),
                  "see muster experiment describe");
    TrialView view = view_of(*trial, state_);
    if (const Job* job = state_.jobs().find(trial->job); job != nullptr && job->is_pending())
      view.job_reason = job_view(*job, QueryDetail::kBrief).reasons.word;
    if (!access::readers_of(state_, *state_.experiments().find(trial->experiment)).has(reader)) {
      view.folder.clear();
      view.log_matches.clear();  // they are lines of its output
    }
    writer.add(std::move(view));
  }
  return std::move(writer).finish();
}

}  // namespace muster
