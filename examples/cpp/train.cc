// Trains softmax regression on a synthetic set, anywhere: alone, as a batch job that is requeued,
// as a trial of an experiment.
//
//     g++ -std=c++17 -O2 train.cc -o train $(pkg-config --cflags --libs muster-core)
//     MUSTER_RUN_DIR=run ./train
//     muster experiment create examples/cpp/experiment.yaml FOLDER-WITH-THE-PROGRAM -f
//
// Asked to stop (SIGTERM, a stop file, the deadline, the controller), it writes a checkpoint and
// ends; started again with the same MUSTER_RUN_DIR, it goes on from there and arrives at the very
// weights it would have had. Hyperparameters: MUSTER_HPARAMS='{"lr": 0.1, "epochs": 40}'.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <muster/core.hpp>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

namespace core = muster::core;
constexpr std::size_t kClasses = 10;
constexpr std::size_t kInputs = 16;
constexpr std::size_t kBatch = 32;
constexpr std::size_t kWeights = kClasses * (kInputs + 1);  // and a bias for each class

struct Sample {
  double inputs[kInputs];
  std::size_t label;
};

/// Drawn with the engine's own bits: distributions of the standard library differ between makers.
double normal(std::mt19937_64& chance) {
  const auto uniform = [&chance] {
    return static_cast<double>((chance() >> 11) + 1) / 9007199254740993.0;
  };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
}

/// Clouds around one centre for each class.
std::vector<Sample> draw_samples(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 chance(1);
  double centres[kClasses][kInputs];
  for (auto& centre : centres) {
    for (double& coordinate : centre) coordinate = normal(chance);
  }
  chance.seed(seed);
  std::vector<Sample> out(count);
  for (Sample& sample : out) {
    sample.label = chance() % kClasses;
    for (std::size_t i = 0; i < kInputs; ++i)
      sample.inputs[i] = centres[sample.label][i] + 1.1 * normal(chance);
  }
  return out;
}

/// All that training needs to go on: what a checkpoint holds.
struct Model {
  std::vector<double> weights = std::vector<double>(kWeights);
  std::vector<double> moments = std::vector<double>(kWeights);

  /// The share of each class.
  void predict(const Sample& sample, double (&shares)[kClasses]) const {
    double greatest = -1e300;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double* row = &weights[c * (kInputs + 1)];
      shares[c] = row[kInputs];
      for (std::size_t i = 0; i < kInputs; ++i) shares[c] += row[i] * sample.inputs[i];
      greatest = std::max(greatest, shares[c]);
    }
    double sum = 0;
    for (double& share : shares) sum += share = std::exp(share - greatest);
    for (double& share : shares) share /= sum;
  }

  /// One step over some samples; the answer is their mean loss.
  double train(const std::vector<Sample>& samples, const std::vector<std::size_t>& batch,
               double lr) {
    std::vector<double> gradient(kWeights);
    double loss = 0;
    for (const std::size_t place : batch) {
      double shares[kClasses];
      predict(samples[place], shares);
      loss -= std::log(std::max(shares[samples[place].label], 1e-300));
      shares[samples[place].label] -= 1;
      for (std::size_t c = 0; c < kClasses; ++c) {
        double* row = &gradient[c * (kInputs + 1)];
        for (std::size_t i = 0; i < kInputs; ++i) row[i] += shares[c] * samples[place].inputs[i];
        row[kInputs] += shares[c];
      }
    }
    const auto size = static_cast<double>(batch.size());
    for (std::size_t w = 0; w < kWeights; ++w) {
      moments[w] = 0.9 * moments[w] + gradient[w] / size;
      weights[w] -= lr * moments[w];
    }
    return loss / size;
  }

  double accuracy(const std::vector<Sample>& samples) const {
    std::size_t right = 0;
    for (const Sample& sample : samples) {
      double shares[kClasses];
      predict(sample, shares);
      right += static_cast<std::size_t>(std::max_element(shares, shares + kClasses) - shares) ==
                       sample.label
                   ? 1U
                   : 0U;
    }
    return static_cast<double>(right) / static_cast<double>(samples.size());
  }

  void save(const std::filesystem::path& path) const {
    std::ofstream file(path, std::ios::binary);
    for (const auto* part : {&weights, &moments})
      file.write(reinterpret_cast<const char*>(part->data()), kWeights * sizeof(double));
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
  }

  void load(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    for (auto* part : {&weights, &moments})
      file.read(reinterpret_cast<char*>(part->data()), kWeights * sizeof(double));
    if (!file) throw std::runtime_error("cannot read " + path.string());
  }

  /// Of all bits, so that two runs can be compared.
  std::uint64_t fingerprint() const {
    std::uint64_t hash = 14695981039346656037U;
    for (const double weight : weights) {
      std::uint64_t bits = 0;
      std::copy_n(reinterpret_cast<const unsigned char*>(&weight), sizeof bits,
                  reinterpret_cast<unsigned char*>(&bits));
      hash = (hash ^ bits) * 1099511628211U;
    }
    return hash;
  }
};

/// One pass, in an order that the seed and the epoch's number say. The answer is the mean loss.
double train_epoch(Model& model, const std::vector<Sample>& samples, std::uint64_t seed,
                   std::int64_t epoch, double lr) {
  std::mt19937_64 chance(seed * 1000003 + static_cast<std::uint64_t>(epoch));
  std::vector<std::size_t> order(samples.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[chance() % (i + 1)]);
  }
  double total = 0;
  std::size_t batches = 0;
  for (std::size_t begin = 0; begin + kBatch <= order.size(); begin += kBatch, ++batches) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    total += model.train(samples, {first, first + kBatch}, lr);
  }
  return total / static_cast<double>(batches);
}

/// The number of epochs that are behind us; of another trial's checkpoint the weights alone are
/// taken.
std::int64_t restore(core::Context& context, Model& model) {
  const core::Run& info = context.info();
  if (!info.latest_checkpoint) return 0;
  model.load(context.checkpoint().restore_path(*info.latest_checkpoint) / "model.bin");
  if (!info.is_warm_start)
    return context.checkpoint().get_metadata(*info.latest_checkpoint)["steps_completed"].as_int();
  std::fill(model.moments.begin(), model.moments.end(), 0);
  return 0;
}

void train(core::Context& context) {
  const core::Run& info = context.info();
  const double lr = info.hparams.get("lr", 0.02);
  const auto pause = std::chrono::duration<double>(
      info.hparams.get("pause_s", 0.0));  // so that a demo can be watched
  const auto operation =
      context.searcher().operation(static_cast<double>(info.hparams.get("epochs", 40)));
  const auto epochs = static_cast<std::int64_t>(operation.length());
  const std::vector<Sample> samples = draw_samples(2000, 2);
  const std::vector<Sample> held = draw_samples(500, 3);
  Model model;
  std::int64_t done = restore(context, model);
  std::printf("run %lld begins after epoch %lld with seed %llu\n",
              static_cast<long long>(info.run_id), static_cast<long long>(done),
              static_cast<unsigned long long>(info.seed));
  std::fflush(stdout);
  bool is_stopped = false;
  while (done < epochs && !is_stopped) {
    const double loss = train_epoch(model, samples, info.seed, done, lr);
    ++done;
    context.train().report_training_metrics(done, {{"loss", loss}});
    context.train().report_validation_metrics(
        done, {{"accuracy", model.accuracy(held)}, {"epochs", done}});
    context.train().report_progress(static_cast<double>(done) / static_cast<double>(epochs));
    std::this_thread::sleep_for(pause);
    is_stopped = context.preempt().should_preempt();
    if (done % 10 == 0 || done == epochs || is_stopped) {
      context.checkpoint().store(
          done, [&](const std::filesystem::path& folder) { model.save(folder / "model.bin"); });
    }
  }
  std::printf("%s after epoch %lld: accuracy %.4f, fingerprint %016llx\n",
              done < epochs ? "stopped" : "ended", static_cast<long long>(done),
              model.accuracy(held), static_cast<unsigned long long>(model.fingerprint()));
}

}  // namespace

int main() {
  try {
    core::Context context = core::init();
    train(context);
    context.close();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
