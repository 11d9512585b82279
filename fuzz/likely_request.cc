#include "fuzz/likely_request.h"

#include "admission/testing.h"
#include "fuzz/plausible.h"
#include "records/bytes.h"
#include "records/wire_records.h"

namespace muster::fuzz {

const char* const kSearchConfig =
    "{name: e, entrypoint: train, max_restarts: 2, hyperparameters: {lr: {type: double, minval: 0, "
    "maxval: 1}}, "
    "searcher: {name: async_halving, metric: loss, num_rungs: 2, max_trials: 4, divisor: 2, "
    "max_concurrent_trials: 2, time_metric: epochs, max_time: 8}}";

std::shared_ptr<JobSpec> job_spec(JobKind kind, const std::string& name) {
  auto spec = testing::spec_of(name);
  spec->kind = kind;
  return spec;
}

SubmitJob submit_of(std::shared_ptr<JobSpec> spec) {
  SubmitJob submit;
  if (spec->kind == JobKind::kBatch)
    submit.script = std::make_shared<const std::string>("#!/bin/sh\nsrun hostname\n");
  submit.environment = std::make_shared<const std::string>(std::string("PATH=/bin\0A=1\0", 14));
  submit.spec = std::move(spec);
  return submit;
}

CreateExperiment experiment_of(std::string config) {
  CreateExperiment create;
  create.config = std::move(config);
  create.job = testing::spec_of("e");
  return create;
}

namespace {

std::shared_ptr<StepSpec> step_spec() {
  auto step = std::make_shared<StepSpec>();
  step->task_count = 1;
  return step;
}

/// A request that is right, or one of any kind.
Request plain_request(Rng& rng) {
  Request request;
  switch (rng.below(14)) {
    case 0:
    case 1:
    case 2:
      request = submit_of(job_spec(rng.chance(0.8) ? JobKind::kBatch : JobKind::kInteractive, "j"));
      break;
    case 3:
      request = experiment_of(
          rng.chance(0.7) ? std::string(kSearchConfig)
                          : "{name: s, entrypoint: t, searcher: {name: single, metric: loss}}");
      break;
    case 4:
      request = testing::cancel_of(JobId(static_cast<std::uint32_t>(1 + rng.below(6))));
      break;
    case 5:
      request = testing::control_of(
          static_cast<JobVerb>(rng.below(8)),
          testing::selector_of(JobId(static_cast<std::uint32_t>(1 + rng.below(6)))));
      break;
    case 6: {
      UpdateObject update{static_cast<UpdateKind>(rng.below(4)),
                          rng.chance(0.5) ? std::to_string(1 + rng.below(6)) : word(rng),
                          {}};
      for (std::uint64_t i = 1 + rng.below(3); i > 0; --i)
        update.values.emplace_back(word(rng), word(rng));
      request = update;
      break;
    }
    case 7:
      request =
          CreateStep{JobId(static_cast<std::uint32_t>(1 + rng.below(6))), step_spec(), nullptr};
      break;
    case 8:
      request = CancelStep{StepId{JobId(static_cast<std::uint32_t>(1 + rng.below(6))), 0,
                                  rng.chance(0.5) ? kBatchStep : 0},
                           9,
                           {}};
      break;
    case 9:
      request = ControlExperiments{static_cast<ExperimentVerb>(rng.below(7)),
                                   {ExperimentId(static_cast<std::uint32_t>(1 + rng.below(3)))}};
      break;
    case 10: {
      ReportTrial report{TrialId(static_cast<std::uint32_t>(1 + rng.below(4))),
                         static_cast<std::uint32_t>(1 + rng.below(2)),
                         rng.below(20),
                         {}};
      report.metrics = {{"loss", static_cast<double>(rng.below(10))},
                        {"epochs", static_cast<double>(rng.below(10))}};
      request = report;
      break;
    }
    case 11:
      request = ReleaseAllocation{JobId(static_cast<std::uint32_t>(1 + rng.below(6))), 0, {}};
      break;
    case 12:
      request = ContinueExperiment{ExperimentId(static_cast<std::uint32_t>(1 + rng.below(2))),
                                   rng.chance(0.5) ? "" : "{searcher: {max_trials: 6}}"};
      break;
    default: request = draw_any<Request>(rng);
  }
  return request;
}

/// Changes some words and numbers of a submission or step.
void vary(Request& request, Rng& rng) {
  if (auto* submit = get_if<SubmitJob>(&request);
      submit != nullptr && submit->spec != nullptr && rng.chance(0.8)) {
    auto spec = std::make_shared<JobSpec>(*submit->spec);
    for (std::uint64_t i = rng.below(5); i > 0; --i)
      spec->text.set(static_cast<JobText>(rng.below(decltype(spec->text)::kSize)), word(rng));
    if (rng.chance(0.3))
      spec->request.edit()->task_count = static_cast<std::uint32_t>(rng.below(10));
    if (rng.chance(0.3)) spec->request.edit()->min_nodes = static_cast<std::uint32_t>(rng.below(4));
    if (rng.chance(0.3)) spec->request.edit()->max_nodes = static_cast<std::uint32_t>(rng.below(4));
    if (rng.chance(0.2)) make_plausible(spec->time_limit, rng);
    if (rng.chance(0.2)) make_plausible(spec->begin_time, rng);
    if (rng.chance(0.1)) {
      JobSpec any;
      testing::draw(any, rng);
      make_plausible(any, rng);
      *spec = any;
    }
    if (rng.chance(0.3)) make_extreme(*spec, rng, 0.05);
    submit->spec = std::move(spec);
  }
  if (auto* create = get_if<CreateStep>(&request);
      create != nullptr && create->spec != nullptr && rng.chance(0.5)) {
    auto spec = std::make_shared<StepSpec>(*create->spec);
    make_extreme(*spec, rng, 0.1);
    create->spec = std::move(spec);
  }
}

}  // namespace

Request likely_request(Rng& rng) {
  Request request = plain_request(rng);
  vary(request, rng);
  return request;
}

std::optional<Request> through_the_wire(const Request& request) {
  const bool is_for_http = visit(
      [](const auto& body) {
        return records::kIsAskedOverHttpAlone<std::remove_cvref_t<decltype(body)>>;
      },
      request);
  if (is_for_http) return std::nullopt;
  capnp::MallocMessageBuilder message;
  records::write(message.initRoot<schema::Request>(), request);
  std::optional<Request> back;
  const Status status = records::with_message<schema::Request>(
      records::message_bytes(message),
      [&](schema::Request::Reader root) { records::read(root, back.emplace()); });
  return status.has_value() ? back : std::nullopt;
}

}  // namespace muster::fuzz
