#include "sim/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "records/log_record.h"
#include "records/page_codec.h"

namespace muster::sim {
namespace {

namespace fs = std::filesystem;

class MemorySpool final : public NodeSpool {
 public:
  std::vector<Spool::Known> read() override {
    std::vector<Spool::Known> known;
    for (const auto& [id, step] : steps_) known.push_back(step);
    return known;
  }
  void close() override {}
  void lose_power() override {}
  Status store_launched(const std::vector<LaunchStep>& steps) override {
    for (const LaunchStep& step : steps) {
      identity_.job_floor = std::max(identity_.job_floor, step.id.job);
      steps_[step.id] = Spool::Known{step.id, step.node_name, step.launch_key, std::nullopt};
    }
    return {};
  }
  Status store_identity(const Spool::Identity& identity) override {
    const bool is_another = !identity_.cluster.cluster_id.empty() &&
                            identity.cluster.cluster_id != identity_.cluster.cluster_id;
    if (is_another) steps_.clear();
    identity_ = identity;
    return {};
  }
  void store_acknowledged(const StepId& step) override { steps_.erase(step); }
  void damage() override {
    steps_.clear();
    identity_ = {};
  }
  void copy_away() override { copy_ = {identity_, steps_}; }
  void copy_back() override { std::tie(identity_, steps_) = copy_; }
  std::optional<StepDone> find_end(const StepId& step) override {
    const auto found = steps_.find(step);
    return found == steps_.end() ? std::nullopt : found->second.done;
  }
  Spool::Identity identity() const override { return identity_; }
  std::string log() const override { return ""; }
  void ended(const std::string&, const StepDone& done) override {
    if (const auto found = steps_.find(done.id); found != steps_.end()) found->second.done = done;
  }

 private:
  Spool::Identity identity_;
  std::map<StepId, Spool::Known> steps_;
  std::pair<Spool::Identity, std::map<StepId, Spool::Known>> copy_;
};

class FileSpool final : public NodeSpool {
 public:
  FileSpool(std::string folder, std::uint64_t seed) : folder_(std::move(folder)), rng_(seed) {}
  ~FileSpool() override {
    close();
    fs::remove_all(folder_);
    fs::remove_all(copy_folder());
  }

  std::vector<Spool::Known> read() override {
    std::vector<Spool::Known> known;
    auto opened = Spool::open(folder_, known);
    CHECK(opened.has_value(), "{}", opened.error().text());
    spool_.emplace(std::move(opened).value());
    return known;
  }
  void close() override { spool_.reset(); }
  /// Of what was appended since the last sync a part is there, cut anywhere.
  void lose_power() override {
    for (const auto& file : fs::directory_iterator(folder_)) {
      if (file.path().extension() != ".log") continue;
      const std::uintmax_t synced = synced_[file.path()];
      const std::uintmax_t size = fs::file_size(file.path());
      if (size > synced) fs::resize_file(file.path(), synced + rng_.below(size - synced + 1));
    }
  }
  Status store_launched(const std::vector<LaunchStep>& steps) override {
    std::vector<const LaunchStep*> pointers;
    for (const LaunchStep& step : steps) pointers.push_back(&step);
    return synced(spool_->launched(pointers));
  }
  Status store_identity(const Spool::Identity& identity) override {
    return synced(spool_->adopt(identity));
  }
  void store_acknowledged(const StepId& step) override { spool_->acknowledged(step); }
  /// One in two times everything, else a part of each log.
  void damage() override {
    const bool is_all = rng_.chance(0.5);
    for (const auto& file : std::vector<fs::directory_entry>(fs::directory_iterator(folder_), {})) {
      if (is_all) {
        fs::remove(file.path());
      } else if (file.path().extension() == ".log") {
        damage_log(file.path());
      }
    }
  }
  void copy_away() override {
    fs::remove_all(copy_folder());
    fs::copy(folder_, copy_folder(), fs::copy_options::recursive);
  }
  void copy_back() override {
    fs::remove_all(folder_);
    fs::copy(copy_folder(), folder_, fs::copy_options::recursive);
    synced_.clear();
    for (const auto& file : fs::directory_iterator(folder_))
      synced_[file.path()] = file.is_regular_file() ? file.file_size() : 0;
  }
  std::optional<StepDone> find_end(const StepId& step) override { return spool_->find_end(step); }
  Spool::Identity identity() const override { return spool_->identity(); }
  std::string log() const override { return spool_->log_path(); }
  /// As keep_exit of stepd/step_program.cc.
  void ended(const std::string& log, const StepDone& done) override {
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CHECK(fd >= 0, "cannot open {}", log);
    const std::string record = records::log_record(records::encode_message(FromAgent(done)));
    CHECK(::write(fd, record.data(), record.size()) == static_cast<ssize_t>(record.size()));
    ::close(fd);
  }

 private:
  Status synced(Status status) {
    if (status.has_value()) synced_[spool_->log_path()] = fs::file_size(spool_->log_path());
    return status;
  }

  fs::path copy_folder() const { return folder_ + ".copy"; }

  void damage_log(const fs::path& path) {
    const auto size = static_cast<std::int64_t>(fs::file_size(path));
    if (size == 0) return;
    std::fstream log(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::int64_t first = rng_.between(0, size - 1);
    log.seekp(first);
    log << std::string(static_cast<std::size_t>(rng_.between(1, size - first)), '?');
  }

  std::string folder_;
  Rng rng_;
  std::optional<Spool> spool_;
  std::map<fs::path, std::uintmax_t> synced_;  ///< how much of each log is on stable storage
};

std::string& folder_of_process() {
  static std::string folder;
  return folder;
}

}  // namespace

std::vector<Spool::Known> NodeSpool::open() {
  std::vector<Spool::Known> known = read();
  std::set<StepId> found;
  for (const Spool::Known& step : known) found.insert(step.id);
  for (const StepId& step : open_) {
    CHECK(found.contains(step), "the spool has lost step {}.{}.{}", step.job.value(), step.attempt,
          step.step);
  }
  open_ = std::move(found);
  return known;
}

void NodeSpool::lose() {
  damage();
  open_.clear();
}

void NodeSpool::back_up() {
  copy_away();
  open_then_ = open_;
}

void NodeSpool::put_back() {
  copy_back();
  open_ = open_then_.value();
}

Status NodeSpool::launched(const std::vector<LaunchStep>& steps) {
  TRY(store_launched(steps));
  for (const LaunchStep& step : steps) open_.insert(step.id);
  return {};
}

Status NodeSpool::adopt(const Spool::Identity& identity) {
  const std::string before = this->identity().cluster.cluster_id;
  TRY(store_identity(identity));
  if (!before.empty() && before != identity.cluster.cluster_id) open_.clear();
  return {};
}

void NodeSpool::acknowledged(const StepId& step) {
  store_acknowledged(step);
  open_.erase(step);
}

std::string spool_folder() {
  std::string& folder = folder_of_process();
  if (folder.empty()) {
    const char* const parent =
        fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";  // where a sync costs nothing
    folder = fmt::format("{}/muster-sim.XXXXXX", parent);
    CHECK(::mkdtemp(folder.data()) != nullptr, "cannot make a folder in {}", parent);
    std::atexit(remove_spool_folder);
  }
  return folder;
}

void remove_spool_folder() {
  std::error_code ignored;
  if (!folder_of_process().empty()) fs::remove_all(folder_of_process(), ignored);
}

std::unique_ptr<NodeSpool> make_spool(const std::string& folder, std::uint64_t seed) {
  if (folder.empty()) return std::make_unique<MemorySpool>();
  static std::uint64_t count = 0;
  return std::make_unique<FileSpool>(fmt::format("{}/{}", folder, ++count), seed);
}

}  // namespace muster::sim
