// Writing and restoring keep one order of slices, because later ones refer to earlier: cluster,
// nodes, blobs, experiments, trials, checkpoints, catalog, jobs, answers. A slice is what may be
// encoded between two batches.
#include "engine/recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/replay_recorder.h"
#include "records/checkpoint_codec.h"
#include "state/request_pool.h"
#include "state/state_hash.h"

namespace muster {
namespace {

constexpr std::size_t kJobsPerSlice = 256;
constexpr std::size_t kEntriesPerSlice = 4096;

void restore_nodes(ClusterState& state, records::Slice& slice) {
  std::vector<NodeConfig> configs;
  std::vector<NodeStatus> statuses;
  for (auto& [config, status] : slice.nodes) {
    configs.push_back(std::move(config));
    statuses.push_back(std::move(status));
  }
  state.restore_nodes(configs, std::move(statuses));
}

records::ClusterEntry cluster_of(const ClusterState& state) {
  const auto& documents = state.catalog().next_ids();
  return {
      state.settings(),        state.partitions(), state.epoch(),
      state.next_job(),        state.next_blob(),  state.time(),
      state.next_experiment(), state.next_trial(), std::vector(documents.begin(), documents.end()),
      state.cluster_id(),      state.rules()};
}

Status write_catalog(const ClusterState& state, const std::function<Status(std::string)>& put) {
  records::SliceToWrite slice;
  for (const auto& [trial, checkpoints] : state.checkpoints().by_trial()) {
    for (const CheckpointRef& checkpoint : checkpoints) {
      slice.checkpoints.push_back(checkpoint);
      if (slice.checkpoints.size() == kJobsPerSlice)
        TRY(put(records::encode_slice(std::exchange(slice, {}))));
    }
  }
  for (const auto& [job, collection] : state.checkpoints().collections())
    slice.collections.push_back(collection);
  for (const auto& [key, document] : state.catalog().documents()) {
    slice.documents.push_back(document);
    if (slice.documents.size() == kJobsPerSlice)
      TRY(put(records::encode_slice(std::exchange(slice, {}))));
  }
  return put(records::encode_slice(slice));
}

/// One slice per experiment, because its search may remember much, and trials by the hundred.
Status write_experiments(const ClusterState& state, const std::function<Status(std::string)>& put) {
  records::SliceToWrite slice;
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    slice.experiments.push_back(&experiment);
    TRY(put(records::encode_slice(std::exchange(slice, {}))));
  }
  for (const auto& [id, trial] : state.experiments().trials()) {
    slice.trials.push_back(&trial);
    if (slice.trials.size() == kJobsPerSlice)
      TRY(put(records::encode_slice(std::exchange(slice, {}))));
  }
  return put(records::encode_slice(slice));
}

/// What had ended in the restored state, to an observer that does not know it.
void report_ended(ClusterState& state, ApplyObserver& observer) {
  const Seq seq = state.seq();
  // Observers add one to the state's number, as is right while a batch is applied.
  state.restore_seq(Seq(seq.value() - 1));  // it ended in that batch, or before
  state.jobs().for_each([&](const Job& job) {
    if (job.run != nullptr) {
      for (const StepState& step : job.run->steps) {
        if (!step.is_running()) observer.step_ended(job, step, state.time());
      }
    }
    if (job.is_over()) observer.attempt_ended(job, state.time());
  });
  state.restore_seq(seq);
}

}  // namespace

void restore_slice(ClusterState& state, records::Slice slice) {
  if (slice.cluster) {
    auto& cluster = *slice.cluster;
    state.restore_cluster(
        std::move(cluster.settings), std::move(cluster.partitions), cluster.epoch,
        {cluster.next_job, cluster.next_blob, cluster.next_experiment, cluster.next_trial},
        cluster.time, std::move(cluster.cluster_id));
    state.restore_rules(cluster.rules);
    for (std::size_t kind = 0; kind < std::min(cluster.next_documents.size(), kDocumentKinds);
         ++kind) {
      state.restore_next_document(static_cast<DocumentKind>(kind), cluster.next_documents[kind]);
    }
  }
  if (!slice.nodes.empty()) restore_nodes(state, slice);
  for (auto& blob : slice.blobs) {
    state.restore_blob(blob.id, BlobRecord{std::move(blob.digest), blob.size, blob.references});
  }
  for (Experiment& experiment : slice.experiments) state.restore_experiment(std::move(experiment));
  for (Trial& trial : slice.trials) state.restore_trial(std::move(trial));
  for (CheckpointRef& checkpoint : slice.checkpoints)
    state.restore_checkpoint(std::move(checkpoint));
  for (Collection& collection : slice.collections) state.restore_collection(std::move(collection));
  for (DocumentRef& document : slice.documents) state.restore_document(std::move(document));
  for (Job& job : slice.jobs) state.restore_job(std::move(job));
  for (auto& answer : slice.answers) {
    state.restore_answer(answer.id, Answer{answer.user, answer.time, std::move(answer.replies)});
  }
}

Result<RecoveryReport> recover(Journal& journal, ClusterState& state, ApplyObserver* observer,
                               const RecoveryBounds& bounds) {
  // From a checkpoint no newer than history, so that the replay passes each end that history lacks.
  const CheckpointSeal seal = TRY(journal.read_checkpoint(
      [&](records::Slice slice) {
        restore_slice(state, std::move(slice));
        return Status();
      },
      std::min(bounds.until, bounds.history)));
  state.restore_seq(seal.seq);
  // A hash of another format says nothing about this state.
  if (seal.hash_format == kStateHashFormat && seal.state_hash != state.hash()) {
    return fail(
        ErrorCode::kCorruption,
        fmt::format("the checkpoint at batch {} is damaged", seal.seq.value()),
        fmt::format("it makes a state with hash {:016x} and was written from one with {:016x}",
                    state.hash(), seal.state_hash));
  }
  // No checkpoint is as old as history: what ended before this one, as far as it still stands in
  // it, is told from the state itself.
  if (observer != nullptr && seal.seq > bounds.history) report_ended(state, *observer);
  RecoveryReport report{seal.seq};
  TRY(journal.follow(seal.seq, [&](const EventBatch& batch) {
    // For tools that look at an earlier state.
    if (batch.seq > bounds.until) return Status();
    report.replayed_events += batch.events.size();
    state.apply(batch, observer);
    return Status();
  }));
  // Before anybody copies the state.
  RequestPool requests;
  state.share_requests(requests);
  return report;
}

HistoryVerdict judge_history(const HistoryMark& mark, bool is_same_past, Seq last,
                             const RecoveryReport& report, const ClusterState& state) {
  HistoryVerdict verdict;
  const Seq watermark = mark.until.seq;
  // In this order: a history ahead explains all the rest.
  if (mark.highest_job >= state.next_job()) verdict.job_floor = mark.highest_job;
  if (watermark > last || verdict.job_floor.value() != 0) {
    verdict.warning = fmt::format(
        "history.db is ahead of the journal (batch {} and job {} there, batch {} and job {} here): "
        "the journal was lost or an "
        "older copy was put back. Job ids go on after {}; what was submitted or ended since that "
        "copy is in sacct alone, and "
        "what ran then runs again unless its node still has it",
        watermark.value(), mark.highest_job.value(), last.value(), state.next_job().value() - 1,
        std::max(mark.highest_job.value(), state.next_job().value() - 1));
  } else if (!is_same_past) {
    verdict.warning = fmt::format(
        "history.db ends at another batch {} than the journal has: an older copy of either was put "
        "back. sacct has what ended in "
        "both, but for what had left the controller's memory before batch {} and is not in this "
        "history",
        watermark.value(), report.checkpoint.value());
  } else if (report.checkpoint > watermark) {
    verdict.warning = fmt::format(
        "history.db ends at batch {} and the journal begins after {}: it was lost or an older copy "
        "was put back; what "
        "ended in between is missing from sacct, but for what is still in memory",
        watermark.value(), report.checkpoint.value());
  }
  return verdict;
}

BatchMark mark_of(const ClusterState& state) { return {state.seq(), state.epoch(), state.time()}; }

Result<StartRecovery> recover_beside_history(Journal& journal, ClusterState& state,
                                             const HistoryMark& mark) {
  const Seq last = journal.last();
  const auto here = TRY(journal.mark(mark.until.seq));
  // Epoch 0: history does not know which batch it was, and is believed.
  const bool is_same_past = !here || mark.until.epoch == Epoch() || *here == mark.until;
  // What stands in a history that is ahead may be of another past: all that is here is told it
  // anew.
  const bool is_ahead = mark.until.seq > last;
  const Seq known = is_same_past && !is_ahead ? mark.until.seq : Seq(0);
  StartRecovery start;
  ReplayRecorder recorder(state, known);
  start.report = TRY(recover(journal, state, &recorder, {.history = known}));
  start.unprojected = recorder.extract_records();
  start.verdict = judge_history(mark, is_same_past, last, start.report, state);
  return start;
}

CheckpointSeal seal_of(const ClusterState& state) {
  return {state.seq(), kStateHashFormat, state.hash()};
}

Status write_checkpoint(const ClusterState& state, const std::function<Status(std::string)>& put) {
  records::SliceToWrite slice;
  // First: all others refer to nodes and settings.
  slice.cluster = cluster_of(state);
  for (const Node& node : state.nodes().all()) slice.nodes.emplace_back(node.config, node.status);
  TRY(put(records::encode_slice(std::exchange(slice, {}))));
  Status outcome;
  state.blobs().for_each([&](BlobId id, const BlobRecord& record) {
    slice.blobs.push_back({id, record.digest, record.size, record.references});
    if (slice.blobs.size() < kEntriesPerSlice || !outcome.has_value()) return;
    outcome = put(records::encode_slice(std::exchange(slice, {})));
  });
  TRY(std::move(outcome));
  TRY(put(records::encode_slice(std::exchange(slice, {}))));
  TRY(write_experiments(state, put));
  TRY(write_catalog(state, put));
  outcome = {};
  state.jobs().for_each_from(JobId(0), [&](const Job& job) {
    slice.jobs.push_back(&job);
    if (slice.jobs.size() == kJobsPerSlice)
      outcome = put(records::encode_slice(std::exchange(slice, {})));
    return outcome.has_value();
  });
  TRY(std::move(outcome));
  outcome = {};
  state.answers().for_each([&](RequestId id, const Answer& answer) {
    slice.answers.push_back({id, answer.user, answer.time, answer.replies});
    if (slice.answers.size() < kEntriesPerSlice || !outcome.has_value()) return;
    outcome = put(records::encode_slice(std::exchange(slice, {})));
  });
  TRY(std::move(outcome));
  return put(records::encode_slice(slice));
}

}  // namespace muster
