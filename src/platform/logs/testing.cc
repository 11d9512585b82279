#include "platform/logs/testing.h"

namespace muster::testing {

EventBatch watched_trial(const std::string& more) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->config =
      "{" + more +
      R"("name": "e", "entrypoint": "train", "searcher": {"name": "single", "metric": "val_loss"}})";
  spec->metric = "val_loss";
  SearchDecided decided;
  decided.experiment = ExperimentId(1);
  decided.first_trial = TrialId(1);
  decided.created.resize(1);
  auto job = std::make_shared<JobSpec>();
  job->trial = TrialId(1);
  JobSubmitted submitted;
  submitted.job = JobId(1);
  submitted.spec = job;
  EventBatch batch;
  for (EventBody body :
       {EventBody(ExperimentCreated{ExperimentId(1), spec, {}, ExperimentState::kActive}),
        EventBody(decided), EventBody(submitted)}) {
    batch.events.push_back({at(0), std::move(body)});
  }
  return batch;
}

EventBatch batch_of(EventBody body) {
  EventBatch batch;
  batch.events.push_back({at(0), std::move(body)});
  return batch;
}

LogFragment piece_of(const std::string& bytes, std::uint64_t offset) {
  LogFragment fragment;
  fragment.owner = {LogOwnerKind::kTrial, 1};
  fragment.offset = offset;
  fragment.bytes = bytes;
  fragment.received_time = at(1);
  return fragment;
}

}  // namespace muster::testing
