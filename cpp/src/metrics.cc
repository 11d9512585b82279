#include "metrics.h"

#include <algorithm>
#include <optional>

#include "json.h"
#include "log.h"

namespace muster::core {
namespace {

constexpr std::size_t kStepsRemembered = 4096;  // per group; more than one batch of the shipper
constexpr const char* kFile = "metrics.jsonl";
const std::string kBatches(1, '\0');  // no metric's name: what a row remembers of its batch metrics

using Texts = std::map<std::string, std::string>;  // JSON by name, so that NaN equals NaN

Value list_of(const std::vector<Metrics>& batches) {
  Value::List out;
  for (const Metrics& one : batches) out.emplace_back(one);
  return out;
}

Texts contents_of(const MetricRow& row) {
  Texts out;
  for (const auto& [name, value] : row.metrics) out.emplace(name, json_of(value));
  if (!row.batch_metrics.empty()) out.emplace(kBatches, json_of(list_of(row.batch_metrics)));
  return out;
}

Texts contents_of(const Value& line) {
  Texts out;
  for (const auto& [name, value] : line["metrics"].as_map()) out.emplace(name, json_of(value));
  if (const Value* batches = line.find("batch_metrics")) out.emplace(kBatches, json_of(*batches));
  return out;
}

Value line_of(const MetricRow& row) {
  Value::Map line{{"run", row.run},
                  {"group", row.group},
                  {"steps", row.steps},
                  {"time", row.time},
                  {"metrics", row.metrics}};
  if (!row.batch_metrics.empty()) line.emplace("batch_metrics", list_of(row.batch_metrics));
  return line;
}

/// What this run has reported of one group, by steps.
struct Reported {
  std::map<std::int64_t, Texts> by_steps;
  std::deque<std::int64_t> order;
  std::optional<std::pair<std::int64_t, std::int64_t>> forgotten;  ///< least and greatest

  bool may_be_forgotten(std::int64_t steps) const {
    return forgotten && by_steps.count(steps) == 0 && forgotten->first <= steps &&
           steps <= forgotten->second;
  }

  void remember(std::int64_t steps, const Texts& contents) {
    const auto [at, is_new] = by_steps.try_emplace(steps);
    at->second.insert(contents.begin(), contents.end());
    if (is_new) order.push_back(steps);
    if (order.size() <= kStepsRemembered) return;
    const std::int64_t oldest = order.front();
    by_steps.erase(oldest);
    order.pop_front();
    const auto [low, high] = forgotten.value_or(std::pair(oldest, oldest));
    forgotten = {std::min(low, oldest), std::max(high, oldest)};
  }
};

class FolderSink final : public MetricSink {
 public:
  explicit FolderSink(RunFolder& folder) : folder_(folder), log_(folder.path() / kFile) {
    if (folder.is_new_run()) return;
    for (const Value& line : own_lines())
      groups_[line["group"].as_text()].remember(line["steps"].as_int(), contents_of(line));
  }

  void append(const std::vector<MetricRow>& rows) override {
    folder_.check_current();
    std::optional<MetricConflictError> conflict;
    std::vector<Value> lines;
    for (const MetricRow& row : rows) {
      try {
        if (const auto fresh = admit(row)) lines.push_back(line_of(*fresh));
      } catch (const MetricConflictError& error) {
        if (!conflict) conflict = error;
      }
    }
    log_.append(lines);
    if (conflict) throw *conflict;
  }

 private:
  /// What is new in it; nothing when nothing is. Errors: MetricConflictError, and then nothing of
  /// it is kept.
  std::optional<MetricRow> admit(const MetricRow& row) {
    Reported& reported = groups_[row.group];
    if (reported.may_be_forgotten(row.steps)) recall(row, reported);
    const auto before = reported.by_steps.find(row.steps);
    const Texts contents = contents_of(row);
    if (before == reported.by_steps.end()) {
      reported.remember(row.steps, contents);
      return row;
    }
    MetricRow fresh = row;
    for (const auto& [name, text] : contents) {
      const auto known = before->second.find(name);
      if (known == before->second.end()) continue;
      if (known->second != text) refuse(row, name, known->second, text);
      fresh.metrics.erase(name);
      if (name == kBatches) fresh.batch_metrics.clear();
    }
    if (fresh.metrics.empty() && fresh.batch_metrics.empty()) return std::nullopt;
    reported.remember(row.steps, contents);
    return fresh;
  }

  [[noreturn]] static void refuse(const MetricRow& row, const std::string& name,
                                  const std::string& before, const std::string& now) {
    const std::string what = name == kBatches ? "the batch metrics" : "'" + name + "'";
    throw MetricConflictError("run " + std::to_string(row.run) + " reported " + what +
                              " of group '" + row.group + "' at step " + std::to_string(row.steps) +
                              " as " + before + " and now as " + now + "; report each value once");
  }

  void recall(const MetricRow& row, Reported& reported) const {
    for (const Value& line : own_lines()) {
      if (line["group"].as_text() == row.group && line["steps"].as_int() == row.steps)
        reported.remember(row.steps, contents_of(line));
    }
  }

  std::vector<Value> own_lines() const {
    std::vector<Value> out = read_lines(folder_.path() / kFile);
    const auto is_foreign = [this](const Value& line) {
      return line["run"].as_int() != folder_.run() || line["steps"].is_null();
    };
    out.erase(std::remove_if(out.begin(), out.end(), is_foreign), out.end());
    return out;
  }

  RunFolder& folder_;
  AppendLog log_;
  std::map<std::string, Reported> groups_;
};

class ControllerSink final : public MetricSink {
 public:
  explicit ControllerSink(const Controller& controller)
      : controller_(controller), session_(controller) {}

  void append(const std::vector<MetricRow>& rows) override {
    std::optional<MetricConflictError> conflict;
    for (const MetricRow& row : rows) {
      try {
        session_.call("POST", "/trials/" + std::to_string(controller_.trial) + "/metrics",
                      body_of(row));
      } catch (const ControllerError& error) {
        if (error.status != 400) throw;
        if (!conflict)
          conflict = MetricConflictError("group '" + row.group + "' at step " +
                                         std::to_string(row.steps) + ": " + error.what());
      }
    }
    if (conflict) throw *conflict;
  }

 private:
  Value body_of(const MetricRow& row) const {
    Value::Map metrics{{"avgMetrics", row.metrics}};
    if (!row.batch_metrics.empty()) metrics.emplace("batchMetrics", list_of(row.batch_metrics));
    return Value::Map{{"group", row.group},
                      {"metrics", Value::Map{{"trialId", controller_.trial},
                                             {"trialRunId", row.run},
                                             {"stepsCompleted", row.steps},
                                             {"reportTime", time_text(row.time)},
                                             {"metrics", std::move(metrics)}}}};
  }

  Controller controller_;
  Session session_;
};

}  // namespace

std::unique_ptr<MetricSink> make_folder_sink(RunFolder& folder) {
  return std::make_unique<FolderSink>(folder);
}
std::unique_ptr<MetricSink> make_controller_sink(const Controller& controller) {
  return std::make_unique<ControllerSink>(controller);
}

}  // namespace muster::core
