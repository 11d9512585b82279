// One function reads each method; SearcherReader holds what several methods share: lengths in the
// older spelling, concurrency, promotion. Faults that depend on several fields are found behind
// them.

#include "trials/searcher_form.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "trials/hyperparameter_form.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 3> kUnits{"batches", "epochs", "records"};
constexpr double kDivisorMax = 1e6;
constexpr std::int64_t kUnitsMax = std::int64_t{1} << 53;  ///< of training

/// A length as versions up to 0.37 wrote it: `{epochs: 64}`, or a bare number of the given or usual
/// unit.
struct LegacyLength {
  std::string unit;
  std::uint64_t length = 0;
};

std::optional<LegacyLength> read_length(FormReader& searcher, std::string_view name) {
  if (!searcher.has(name)) return std::nullopt;
  LegacyLength length;
  // Counts problems, to return nothing if this length added one.
  const std::size_t before = searcher.context().problems.size();
  // A bare number is of the unit that time_metric has, or batches.
  if (searcher.field(name)->object() == nullptr) {
    searcher.whole(name, length.length, 1, kUnitsMax);
    return length;
  }
  FormReader map = searcher.section(name);
  for (const std::string_view unit : kUnits) {
    if (!map.has(unit)) continue;
    if (!length.unit.empty())
      map.refuse(unit, fmt::format("{} is given too; give one of them", length.unit));
    length.unit = std::string(unit);
    map.whole(unit, length.length, 1, kUnitsMax);
  }
  map.finish();
  if (length.unit.empty())
    searcher.refuse(name, "no unit is given; write {epochs: N}, {batches: N} or {records: N}");
  if (searcher.context().problems.size() > before) return std::nullopt;
  return length;
}

class SearcherReader {
 public:
  SearcherReader(FormReader& section, SearcherSection& out) : section_(section), out_(out) {}

  void read_common() {
    SearchConfig& search = out_.search;
    if (section_.require("metric", "the validation metric that trials are ranked by"))
      section_.text("metric", search.metric);
    // Only where the field is a text: otherwise text() has already complained.
    if (section_.has("metric") && search.metric.empty() &&
        section_.field("metric")->text() != nullptr) {
      section_.refuse("metric",
                      "it is empty; give the validation metric that trials are ranked by");
    }
    section_.flag("smaller_is_better", search.smaller_is_better);
    section_.text("time_metric", search.time_metric);
    std::uint64_t source = 0;
    section_.whole("source_trial_id", source, 1, UINT32_MAX);
    if (source > 0) out_.source_trial_id = source;
    section_.text("source_checkpoint_uuid", out_.source_checkpoint_uuid);
    if (source > 0 && !out_.source_checkpoint_uuid.empty()) {
      section_.refuse("source_trial_id", "source_checkpoint_uuid is given too; give one of them");
    }
  }

  void read_single() {
    // As Determined has it: a single search is a random one with one trial.
    out_.search.method = RandomSearch{1};
    out_.search.max_concurrent_trials = 1;
    trial_length();
  }
  void read_random() {
    RandomSearch method;
    trials(method.max_trials);
    concurrency();
    trial_length();
    out_.search.method = method;
  }
  void read_grid() {
    // The number of trials follows from the hyperparameters; check_grid bounds it.
    concurrency();
    trial_length();
    out_.search.method = GridSearch{};
  }
  void read_async_halving() {
    AsyncHalving method;
    if (section_.require("num_rungs", "how many rungs there are"))
      section_.whole("num_rungs", method.num_rungs, 1, 100);
    trials(method.max_trials);
    section_.number("divisor", method.divisor, 1.001, kDivisorMax);
    top(method.max_time);
    promote_or_stop(method);
    concurrency();
    out_.search.method = method;
  }
  void read_adaptive_asha() {
    constexpr std::array<std::string_view, 3> kModes{"aggressive", "standard", "conservative"};
    AdaptiveAsha method;
    if (const auto mode = section_.choice("mode", kModes))
      method.mode = static_cast<AshaMode>(*mode);
    trials(method.max_trials);
    section_.whole("max_rungs", method.max_rungs, 1, 100);
    section_.number("divisor", method.divisor, 1.001, kDivisorMax);
    top(method.max_time);
    bracket_rungs(method.bracket_rungs);
    if (method.bracket_rungs.size() > method.max_trials) {
      section_.refuse("bracket_rungs",
                      fmt::format("{} brackets are more than max_trials {}; each has one at least",
                                  method.bracket_rungs.size(), method.max_trials));
    }
    // The lowest rung lies at max_time / divisor^(rungs - 1) units.
    for (const std::uint32_t rungs : method.bracket_rungs) {
      if (std::pow(method.divisor, rungs - 1) <= static_cast<double>(kUnitsMax)) continue;
      section_.refuse("bracket_rungs",
                      fmt::format("{} rungs with divisor {} begin below any unit of training",
                                  rungs, method.divisor));
    }
    promote_or_stop(method);
    concurrency();
    out_.search.method = method;
  }
  void read_sync_halving() {
    SyncHalving method;
    if (section_.require("num_rungs", "how many rungs there are"))
      section_.whole("num_rungs", method.num_rungs, 1, 100);
    trials(method.max_trials);
    section_.whole("divisor", method.divisor, 2, 1'000'000);
    top(method.max_time);
    concurrency();
    out_.search.method = method;
  }
  void read_hyperband() {
    Hyperband method;
    section_.whole("divisor", method.divisor, 2, 1'000'000);
    top(method.max_time);
    // The first bracket has as many trials as the largest power of the divisor below max_time, all
    // together less than three times as many.
    std::uint64_t first = 1;
    // Divides the bound, since a product could overflow.
    while (first <= method.max_time / method.divisor) first *= method.divisor;
    if (first > kTrialMax / 3) {
      section_.refuse(
          "max_time",
          fmt::format(
              "{} would begin with {} trials; count time in a larger unit, or raise the divisor",
              method.max_time, first));
    }
    concurrency();
    out_.search.method = method;
  }
  void read_population_training() {
    PopulationTraining method;
    if (section_.require("population_size", "how many trials there are at once")) {
      section_.whole("population_size", method.population_size, 1, 10'000);
    }
    if (section_.require("num_rounds", "how many rounds they train"))
      section_.whole("num_rounds", method.num_rounds, 1, 10'000);
    if (section_.require("length_per_round", "how long a round is, as {batches: N}")) {
      if (const auto length = read_length(section_, "length_per_round"))
        use_length(*length, method.length_per_round);
    }
    FormReader replace = section_.section("replace_function");
    // Above one half a trial would be both among the best and among the worst.
    replace.number("truncate_fraction", method.truncate_fraction, 0, 0.5);
    replace.finish();
    FormReader explore = section_.section("explore_function");
    explore.number("resample_probability", method.resample_probability, 0, 1);
    explore.number("perturb_factor", method.perturb_factor, 0, 1);
    explore.finish();
    if (method.length_per_round > static_cast<std::uint64_t>(kUnitsMax) / method.num_rounds) {
      section_.refuse("length_per_round",
                      "all rounds together are beyond what can be counted; count in a larger unit");
    }
    const double created = method.truncate_fraction * method.population_size * method.num_rounds +
                           method.population_size;
    if (created > kTrialMax) {
      section_.refuse("num_rounds",
                      fmt::format("{:.0f} trials would be created, and a search has at most {}",
                                  created, kTrialMax));
    }
    // 0: as many as the population, so that a round runs at once; a file may lower it.
    out_.search.max_concurrent_trials = 0;
    concurrency();
    out_.search.method = method;
  }
  /// How long trials train is the client's to say, in `unit`.
  void read_custom() {
    std::string& time = out_.search.time_metric;
    const auto unit = section_.choice("unit", kUnits);
    if (unit && !time.empty() && time != kUnits[*unit]) {
      section_.refuse("time_metric",
                      fmt::format("\"{}\" and the unit {} do not go together; leave one out", time,
                                  kUnits[*unit]));
    }
    if (unit) time = std::string(kUnits[*unit]);
    if (time.empty()) time = "batches";
    concurrency();
    out_.search.method = CustomSearch{};
  }
  void read_tpe() {
    TpeSearch method;
    trials(method.max_trials);
    // Each choice weighs all trials before it.
    constexpr std::uint32_t kMost = 10'000;
    if (method.max_trials > kMost) {
      section_.refuse("max_trials",
                      fmt::format("{} are too many for tpe; give {} or fewer, or use random",
                                  method.max_trials, kMost));
    }
    section_.whole("startup_trials", method.startup_trials, 1, kMost);
    section_.whole("candidates", method.candidates, 1, 1000);
    concurrency();
    trial_length();
    out_.search.method = method;
  }

 private:
  void trials(std::uint32_t& max_trials) {
    if (section_.require("max_trials", "how many trials there are in all"))
      section_.whole("max_trials", max_trials, 1, kTrialMax);
  }
  void concurrency() {
    section_.whole("max_concurrent_trials", out_.search.max_concurrent_trials, 0);
  }

  void use_length(const LegacyLength& length, std::uint64_t& out) {
    out = length.length;
    const std::string& named = out_.search.time_metric;
    // A search counts in one unit: two different ones cannot be compared.
    if (!length.unit.empty() && !named.empty() && named != length.unit) {
      section_.refuse("time_metric",
                      fmt::format("\"{}\" and a length in {} do not go together; leave it out",
                                  named, length.unit));
    }
    if (!length.unit.empty()) out_.search.time_metric = length.unit;
    if (out_.search.time_metric.empty()) out_.search.time_metric = "batches";
  }
  /// A script that asks its searcher how far to train is told the next rung where trials are
  /// promoted, else the length of the file: a trial that nothing stops ends there.
  template <class Halving>
  void promote_or_stop(Halving& method) {
    method.is_promoting = is_promoting();
    if (is_length_given_ && !method.is_promoting) out_.trial_length = method.max_time;
  }
  void trial_length() {
    if (const auto length = read_length(section_, "max_length"))
      use_length(*length, out_.trial_length);
  }
  /// The training at the top rung: `max_time` in units of `time_metric`, or the older `max_length`.
  void top(std::uint64_t& max_time) {
    if (section_.has("max_length") && section_.has("max_time")) {
      // Marked as read, so that finish() reports one problem and not two.
      section_.field("max_time");
      section_.refuse("max_length", "max_time is given too; give one of them");
    }
    if (section_.has("max_length")) {
      is_length_given_ = true;
      if (const auto length = read_length(section_, "max_length")) use_length(*length, max_time);
      // A length in the older spelling brings its unit, or has the usual one: time_metric is not
      // required.
      return;
    }
    section_.require("time_metric", "the metric that counts training, such as epochs or batches");
    if (section_.require("max_time", "how long the best trials train, in units of time_metric"))
      section_.whole("max_time", max_time, 1, kUnitsMax);
  }
  /// Up to 0.37 promotion was the rule and `stop_once: true` the exception; since 0.38 trials are
  /// stopped.
  bool is_promoting() {
    bool stops_once = true;
    section_.flag("stop_once", stops_once);
    return !stops_once;
  }
  void bracket_rungs(std::vector<std::uint32_t>& rungs) {
    const Json* value = section_.field("bracket_rungs");
    if (value == nullptr) return;
    if (value->array() == nullptr)
      return section_.refuse("bracket_rungs",
                             "a list of whole numbers is expected, such as [3, 2]");
    for (const Json& one : *value->array()) {
      if (one.whole() == nullptr || *one.whole() < 1 || *one.whole() > 100) {
        section_.refuse(
            "bracket_rungs",
            fmt::format("{} is not possible; give whole numbers from 1 to 100", shown_value(one)));
        return;
      }
      rungs.push_back(static_cast<std::uint32_t>(*one.whole()));
    }
  }

  FormReader& section_;
  SearcherSection& out_;
  bool is_length_given_ = false;  ///< max_length, not max_time
};

struct MethodRow {
  std::string_view name;
  void (SearcherReader::*read)();
};
constexpr std::array kMethods{MethodRow{"single", &SearcherReader::read_single},
                              MethodRow{"random", &SearcherReader::read_random},
                              MethodRow{"grid", &SearcherReader::read_grid},
                              MethodRow{"async_halving", &SearcherReader::read_async_halving},
                              MethodRow{"adaptive_asha", &SearcherReader::read_adaptive_asha},
                              MethodRow{"sync_halving", &SearcherReader::read_sync_halving},
                              MethodRow{"hyperband", &SearcherReader::read_hyperband},
                              MethodRow{"pbt", &SearcherReader::read_population_training},
                              MethodRow{"tpe", &SearcherReader::read_tpe},
                              MethodRow{"custom", &SearcherReader::read_custom}};

/// Names that once were methods, and what to write instead.
struct FormerRow {
  std::string_view name;
  std::string_view remedy;
};
constexpr std::array kFormer{FormerRow{"adaptive", "it was replaced; use adaptive_asha"},
                             FormerRow{"adaptive_simple", "it was replaced; use adaptive_asha"}};

const MethodRow* read_method(FormReader& section) {
  if (!section.require("name", "the method, such as adaptive_asha")) return nullptr;
  if (const Json* name = section.field("name"); name->text() != nullptr) {
    // Before choice(), whose list of methods would be the only advice.
    for (const FormerRow& former : kFormer) {
      if (*name->text() != former.name) continue;
      section.refuse("name", fmt::format("\"{}\" cannot be run: {}", former.name, former.remedy));
      return nullptr;
    }
  }
  std::vector<std::string_view> names;
  for (const MethodRow& row : kMethods) names.push_back(row.name);
  const auto place = section.choice("name", names);
  return place ? &kMethods[*place] : nullptr;
}

}  // namespace

SearcherSection read_searcher(FormReader& section, const HyperSpace& space,
                              FormReader& hyperparameters) {
  SearcherSection out;
  const MethodRow* method = read_method(section);
  // Without a method its fields are unknown: nothing else is reported.
  if (method == nullptr) return out;
  SearcherReader reader(section, out);
  reader.read_common();
  (reader.*method->read)();
  section.finish();
  if (std::holds_alternative<GridSearch>(out.search.method)) check_grid(space, hyperparameters);
  return out;
}

}  // namespace muster
