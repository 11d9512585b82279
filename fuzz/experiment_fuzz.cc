// Experiment files: YAML from anybody, through the layers, the form and what of the search follows
// from it.
#include "fuzz/fuzz.h"
#include "platform/config/prepare_experiment.h"

namespace muster::fuzz {

std::vector<std::string> seeds() {
  return {
      "name: e\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: "
      "{batches: 100}}\n",
      "name: a\nentrypoint: [python3, train.py]\nhyperparameters:\n  lr: {type: log, base: 10, "
      "minval: -4, maxval: -1}\n  n: {type: int, minval: 1, maxval: 9, count: 3}\n"
      "  c: {type: categorical, vals: [1, b, {x: 2}]}\nsearcher: {name: adaptive_asha, metric: "
      "loss, max_trials: 16, time_metric: epochs, max_time: 27}\n",
      "name: g\nentrypoint: t\nhyperparameters: {a: {b: {type: double, minval: 0, maxval: 1, "
      "count: 2}}, k: 3}\nsearcher: {name: grid, metric: acc, smaller_is_better: false}\n"
      "resources: {slots_per_trial: 2, max_slots: 8, priority: 10}\nmax_restarts: "
      "2\nlog_policies:\n  - {pattern: '.*CUDA.*', action: {type: cancel_retries}}\n",
      "base: &b {type: shared_fs, host_path: /tmp, storage_path: x}\ncheckpoint_storage:\n  <<: "
      "*b\n  save_trial_best: 2\nname: s\nentrypoint: t\nsearcher: {name: random, metric: m, "
      "max_trials: 3}\n"
      "environment: {environment_variables: [A=1, 'B=2']}\nlabels: [x, y]\nworkspace: w\nproject: "
      "p\nprofiling: {enabled: true}\nbudget: {gpu_hours: 3}\n",
      "name: p\nentrypoint: t\nhyperparameters: {lr: {type: double, minval: 0, maxval: "
      "1}}\nsearcher: {name: pbt, metric: loss, population_size: 4, num_rounds: 3, "
      "length_per_round: 2,"
      " time_metric: epochs, replace_function: {truncate_fraction: 0.25}, explore_function: "
      "{resample_probability: 0.2, perturb_factor: 0.2}}\n",
  };
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = muster::fuzz::bytes_of(data, size);
  const auto checked = muster::check_experiment(text);
  FUZZ_EXPECT(checked.has_value() || !checked.error().message.empty(), "an error without a word");
  return 0;
}
