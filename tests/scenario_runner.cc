// Plays the *.scenario files below a folder through the planner and compares what happened with
// what they expect. The format is described in tests/scenarios/README.md.
//
//   scenario_runner FILE-OR-FOLDER...
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sched/planner.h"
#include "sched/reasons.h"
#include "sched/testing.h"
#include "tests/scenario_text.h"

namespace muster::sched {
namespace {

using namespace testing;

using scenario::expand_hosts;
using scenario::read_number;

/// One line: a word, names and options "key=value".
struct Line : scenario::Options {
  explicit Line(const scenario::TextLine& line)
      : Options(std::span(line.words).subspan(1)), number(line.number), word(line.words.front()) {}
  std::size_t number;
  std::string word;
};

std::vector<Line> parse(std::istream& stream) {
  std::vector<Line> lines;
  for (const scenario::TextLine& line : scenario::read_text(stream)) lines.emplace_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, char separator) {
  return scenario::split_text(text, separator);
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  return read_number(text, number) ? number : 0;
}
std::uint32_t count_in(const std::string& text) {
  return static_cast<std::uint32_t>(number_in(text));
}

/// "h100:2,a100:1" or "2": a type and a count, or a count alone.
std::vector<GresAmount> gpu_amounts(const std::string& text) {
  std::vector<GresAmount> amounts;
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const std::string type = colon == std::string::npos ? "" : part.substr(0, colon);
    const std::string count = colon == std::string::npos ? part : part.substr(colon + 1);
    amounts.push_back({"gpu", type, count_in(count)});
  }
  return amounts;
}

struct ScenarioJob {
  PendingJob job;
  std::int64_t submit = 0;
  std::int64_t run = 0;
  std::optional<std::int64_t> cancel;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::string nodes;  ///< of the first start
  std::string cpus;
};

class Scenario {
 public:
  explicit Scenario(std::vector<Line> lines) : lines_(std::move(lines)) {}

  /// What differs from the expectations.
  std::vector<std::string> run() {
    for (const Line& line : lines_) read(line);
    for (const Line& line : lines_) read_job(line);
    finish_config();
    play();
    for (const Line& line : lines_) check(line);
    for (const Line& line : lines_) {
      for (const std::string& problem : line.problems()) fail(line, problem);
    }
    return failures_;
  }

 private:
  void fail(const Line& line, const std::string& text) {
    failures_.push_back(fmt::format("line {}: {}", line.number, text));
  }

  void read(const Line& line) {
    if (line.word == "node") read_node(line);
    if (line.word == "partition") read_partition(line);
    if (line.word == "option") read_option(line);
    if (line.word == "event") moments_.insert(number_in(line.name(0)));
    if (line.word == "expect" && line.has("at")) moments_.insert(line.number_of("at"));
    const std::set<std::string> known{"node", "partition", "option", "event", "expect", "job"};
    if (!known.contains(line.word)) fail(line, "unknown word " + line.word);
  }

  void read_node(const Line& line) {
    for (const std::string& name : expand_hosts(line.name(0))) {
      NodeConfig node = make_node(name, line.count("cpus", 4), line.count("mem", 1000));
      node.threads_per_core = line.count("threads", 1);
      node.cores_per_socket = node.cpus / node.threads_per_core;
      node.weight = line.count("weight", 1);
      node.features = split(line.get("features"), ',');
      for (const GresAmount& amount : gpu_amounts(line.get("gpus"))) {
        node.gres.push_back({amount.name, amount.type, amount.count, {}});
      }
      config_.nodes.push_back(std::move(node));
    }
  }

  void read_partition(const Line& line) {
    PartitionConfig partition;
    partition.name = line.name(0);
    partition.priority_tier = line.count("tier", 1);
    partition.max_nodes = line.count("max_nodes");
    partition.min_nodes = line.count("min_nodes");
    partition.max_cpus_per_node = line.count("max_cpus_per_node");
    partition.is_exclusive = line.number_of("exclusive") != 0;
    if (line.has("max_time")) partition.max_time = Duration::seconds(line.number_of("max_time"));
    if (line.get("state") == "down") partition.state = PartitionState::kDown;
    if (line.get("state") == "inactive") partition.state = PartitionState::kInactive;
    if (line.get("state") == "drain") partition.state = PartitionState::kDrain;
    for (const std::string& name : expand_hosts(line.get("nodes")))
      partition.nodes.push_back(node_index(line, name));
    std::ranges::sort(partition.nodes);
    config_.partitions.push_back(std::move(partition));
  }

  void read_option(const Line& line) {
    for (const std::string& name : line.names()) {
      if (name == "conservative") options_ = PlanOptions::conservative();
      if (name == "no_backfill") options_.is_backfill = false;
      if (name == "shortest_first") options_.tail_order = TailOrder::kTimeLimit;
      if (name == "memory_is_not_consumable") config_.settings.is_memory_consumable = false;
      if (name == "cpus_are_consumable") config_.settings.is_core_consumable = false;
    }
    if (line.has("reservation_depth")) options_.reservation_depth = line.count("reservation_depth");
  }

  NodeIndex node_index(const Line& line, const std::string& name) {
    const auto found = std::ranges::find(config_.nodes, name, &NodeConfig::name);
    if (found == config_.nodes.end()) fail(line, "unknown node " + name);
    return NodeIndex(static_cast<std::uint32_t>(found - config_.nodes.begin()));
  }
  PartitionIndex partition_index(const std::string& name) const {
    const auto found = std::ranges::find(config_.partitions, name, &PartitionConfig::name);
    return PartitionIndex(static_cast<std::uint32_t>(found - config_.partitions.begin()));
  }

  static ResourceRequest read_request(const Line& line) {
    ResourceRequest request;
    const std::vector<std::string> nodes = split(line.get("nodes", "1"), '-');
    request.min_nodes = count_in(nodes[0]);
    if (line.has("nodes")) request.max_nodes = count_in(nodes.back());
    request.tasks_per_node = line.count("tasks_per_node");
    request.task_count =
        line.count("tasks", request.min_nodes * std::max(request.tasks_per_node, 1U));
    request.cpus_per_task = line.count("cpus", 1);
    request.cpus_per_gpu = line.count("cpus_per_gpu");
    request.tasks_per_gpu = line.count("tasks_per_gpu");
    request.threads_per_core = line.count("threads");
    read_memory(line, request);
    request.gres_per_node = gpu_amounts(line.get("gpus_per_node"));
    request.gres_per_job = gpu_amounts(line.get("gpus"));
    request.gres_per_task = gpu_amounts(line.get("gpus_per_task"));
    for (const std::string& all : split(line.get("features"), '|'))
      request.features.alternatives.push_back(split(all, '&'));
    request.required_nodes = expand_hosts(line.get("nodelist"));
    request.excluded_nodes = expand_hosts(line.get("exclude"));
    request.is_exclusive = line.has_name("exclusive");
    request.is_contiguous = line.has_name("contiguous");
    request.is_overcommit = line.has_name("overcommit");
    return request;
  }
  static void read_memory(const Line& line, ResourceRequest& request) {
    const std::pair<const char*, MemoryScope> scopes[] = {{"mem", MemoryScope::kPerNode},
                                                          {"mem_per_cpu", MemoryScope::kPerCpu},
                                                          {"mem_per_gpu", MemoryScope::kPerGpu}};
    for (const auto& [key, scope] : scopes) {
      if (!line.has(key)) continue;
      request.memory_scope = scope;
      request.memory_mib = line.count(key);
    }
  }

  void read_job(const Line& line) {
    if (line.word != "job") return;
    const auto id = count_in(line.name(0));
    ScenarioJob one;
    const std::int64_t limit = line.number_of("limit", 100);
    one.submit = line.number_of("submit");
    one.run = std::min(line.number_of("run", limit), limit);
    one.job = make_job(id, read_request(line), limit);
    one.job.submit_time = at(one.submit);
    one.job.priority = line.number_of("priority");
    if (line.has("begin")) one.job.eligible_time = at(line.number_of("begin"));
    if (line.has("cancel")) one.cancel = line.number_of("cancel");
    if (line.get("hold") == "user") one.job.hold = PendingReason::kJobHeldUser;
    if (line.get("hold") == "admin") one.job.hold = PendingReason::kJobHeldAdmin;
    if (line.get("hold") == "dependency") one.job.hold = PendingReason::kDependency;
    const std::vector<std::string> array = split(line.get("array", "1"), '%');
    one.job.element_count = count_in(array[0]);
    if (array.size() > 1) one.job.throttle = count_in(array[1]);
    if (line.has("partition")) {
      one.job.partitions.clear();
      for (const std::string& name : split(line.get("partition"), ','))
        one.job.partitions.push_back(partition_index(name));
    }
    moments_.insert(one.submit);
    if (one.job.eligible_time.is_set()) moments_.insert(line.number_of("begin"));
    if (one.cancel) moments_.insert(*one.cancel);
    jobs_.emplace(id, std::move(one));
  }

  void finish_config() {
    if (config_.partitions.empty()) {
      config_ = [this] {
        ClusterConfig whole = make_cluster(config_.nodes);
        whole.settings = config_.settings;
        return whole;
      }();
    }
    snapshot_.set_cluster(config_);
  }

  void play() {
    while (!moments_.empty()) {
      const std::int64_t now = *moments_.begin();
      moments_.erase(moments_.begin());
      snapshot_.advance_time(at(now));
      end_jobs(now);
      for (const Line& line : lines_) apply_event(line, now);
      for (auto& [id, one] : jobs_) {
        if (one.submit == now) snapshot_.add_pending(one.job);
        if (one.cancel == now && snapshot_.find_pending(JobId(id)) != nullptr)
          snapshot_.remove_pending(JobId(id));
      }
      const Plan made = planner_.plan(snapshot_, at(now), options_);
      for (const Start& start : made.starts) begin(start, now);
      record_reasons(now);
    }
  }

  void apply_event(const Line& line, std::int64_t now) {
    if (line.word != "event" || number_in(line.name(0)) != now) return;
    const std::string& verb = line.name(1);
    if (verb == "release" || verb == "hold") {
      const JobId job(count_in(line.name(2)));
      snapshot_.set_hold(job, verb == "hold" ? PendingReason::kJobHeldUser : PendingReason::kNone);
      return;
    }
    const std::map<std::string, std::uint16_t> bits{{"drain", node_condition::kDrain},
                                                    {"down", node_condition::kDown},
                                                    {"resume", std::uint16_t{0}}};
    if (!bits.contains(verb)) return fail(line, "unknown event " + verb);
    for (const std::string& name : expand_hosts(line.name(2))) {
      snapshot_.set_node_conditions(node_index(line, name), bits.at(verb));
    }
  }

  void begin(const Start& start, std::int64_t now) {
    ScenarioJob& one = jobs_.at(start.job.value());
    const PendingJob pending = *snapshot_.find_pending(start.job);
    const bool is_array = one.job.element_count > 1;
    const JobId id = is_array ? JobId(next_element_++) : start.job;
    if (is_array) {
      snapshot_.set_elements(start.job, pending.element_count - 1, pending.running_count + 1);
    } else {
      snapshot_.remove_pending(start.job);
    }
    snapshot_.start_job({id, start.partition, start.nodes, start.end});
    one.starts.push_back(now);
    ends_.emplace(now + one.run, std::pair(id, start.job));
    moments_.insert(now + one.run);
    if (one.starts.size() > 1) return;
    for (const NodeAmount& amount : start.nodes) {
      one.nodes += (one.nodes.empty() ? "" : ",") + config_.nodes[amount.node.value()].name;
      one.cpus += (one.cpus.empty() ? "" : ",") + std::to_string(amount.cpus);
    }
  }

  void end_jobs(std::int64_t now) {
    for (auto it = ends_.begin(); it != ends_.end() && it->first <= now; it = ends_.erase(it)) {
      const auto& [id, record] = it->second;
      snapshot_.end_job(id);
      jobs_.at(record.value()).ends.push_back(now);
      const PendingJob* pending = snapshot_.find_pending(record);
      if (pending == nullptr) continue;
      snapshot_.set_elements(record, pending->element_count, pending->running_count - 1);
    }
  }

  void record_reasons(std::int64_t now) {
    const Plan made = planner_.plan(snapshot_, at(now), options_);
    if (!made.starts.empty())
      failures_.push_back(fmt::format("at {}: planning again starts a job", now));
    for (const auto& [id, one] : jobs_) {
      if (snapshot_.find_pending(JobId(id)) == nullptr) continue;
      const Reasons reasons = reasons_of(snapshot_, made, JobId(id));
      reasons_[{id, now}] = reasons;
    }
  }

  static std::string join(const std::vector<std::int64_t>& values) {
    std::string result;
    for (const std::int64_t value : values)
      result += (result.empty() ? "" : ",") + std::to_string(value);
    return result.empty() ? "never" : result;
  }

  void check(const Line& line) {
    if (line.word != "expect") return;
    const auto id = count_in(line.name(0));
    const ScenarioJob& one = jobs_.at(id);
    const auto compare = [&](const char* key, const std::string& found) {
      if (line.has(key) && line.get(key) != found) {
        fail(line, fmt::format("job {}: {} is {}, expected {}", id, key, found, line.get(key)));
      }
    };
    compare("start", join(one.starts));
    compare("end", join(one.ends));
    compare("cpus", one.cpus);
    if (line.has("nodes")) {
      std::string wanted;
      for (const std::string& name : expand_hosts(line.get("nodes")))
        wanted += (wanted.empty() ? "" : ",") + name;
      if (wanted != one.nodes)
        fail(line, fmt::format("job {}: nodes are {}, expected {}", id, one.nodes, wanted));
    }
    if (!line.has("at")) return;
    const auto found = reasons_.find({id, line.number_of("at")});
    const bool is_pending = found != reasons_.end();
    std::string word(is_pending ? pending_reason_word(found->second.word)
                                : "none: it is not pending");
    std::ranges::replace(word, ' ', '_');  // as scontrol prints it
    compare("reason", word);
    const TimePoint planned = is_pending ? found->second.expected_start : TimePoint::unset();
    compare("planned", planned.is_set() ? std::to_string((planned - at(0)).seconds()) : "unset");
  }

  std::vector<Line> lines_;
  ClusterConfig config_;
  PlanOptions options_;
  ClusterSnapshot snapshot_;
  Planner planner_;
  std::map<std::uint32_t, ScenarioJob> jobs_;
  std::set<std::int64_t> moments_;
  std::multimap<std::int64_t, std::pair<JobId, JobId>> ends_;
  std::map<std::pair<std::uint32_t, std::int64_t>, Reasons> reasons_;
  std::uint32_t next_element_ = 1'000'000;
  std::vector<std::string> failures_;
};

bool run_file(const std::string& path) {
  std::ifstream stream(path);
  const std::vector<std::string> failures = Scenario(parse(stream)).run();
  for (const std::string& failure : failures) fmt::print("{}: {}\n", path, failure);
  return failures.empty();
}

}  // namespace
}  // namespace muster::sched

int main(int argc, char** argv) {
  const std::vector<std::string> places(argv + 1, argv + argc);
  const auto files = muster::scenario::scenario_files(places);
  std::size_t failed_count = 0;
  for (const std::string& file : files) failed_count += muster::sched::run_file(file) ? 0 : 1;
  fmt::print("{} scenarios, {} failed\n", files.size(), failed_count);
  return files.empty() || failed_count > 0 ? 1 : 0;
}
