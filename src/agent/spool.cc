#include "agent/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "records/log_record.h"
#include "records/page_codec.h"

namespace muster {
namespace {

/// A log longer than this is left behind once none of its steps is open.
constexpr std::size_t kRotateBytes = 8U << 20;

/// The launch without what is long: enough to know what ran.
LaunchStep without_bulk(const LaunchStep& launch) {
  LaunchStep brief;
  brief.id = launch.id;
  brief.node_name = launch.node_name;
  return brief;
}

std::string read_from(const std::string& path, std::size_t offset) {
  std::string bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  char buffer[65536];
  auto place = static_cast<off_t>(offset);
  for (ssize_t n = 0; (n = ::pread(fd, buffer, sizeof buffer, place)) > 0; place += n) {
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return bytes;
}

std::vector<std::uint64_t> generations_in(const std::string& folder) {
  std::vector<std::uint64_t> found;
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return found;
  while (const dirent* entry = ::readdir(entries)) {
    if (std::strncmp(entry->d_name, "steps.", 6) == 0) found.push_back(std::strtoull(entry->d_name + 6, nullptr, 10));
  }
  ::closedir(entries);
  std::ranges::sort(found);
  return found;
}

std::string log_name(const std::string& folder, std::uint64_t generation) {
  return fmt::format("{}/steps.{}.log", folder, generation);
}

}  // namespace

Spool::Spool(Spool&& other) noexcept
    : folder_(std::move(other.folder_)), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)),
      generation_(other.generation_), size_(other.size_), open_(std::move(other.open_)),
      offsets_(std::move(other.offsets_)), ends_(std::move(other.ends_)) {}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Spool> Spool::open(const std::string& folder, std::vector<Known>& known) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail(ErrorCode::kUnavailable, "cannot create the spool " + folder, std::strerror(errno));
  }
  Spool spool(folder);
  std::map<StepId, Known> steps;
  std::uint64_t newest = 0;
  for (const std::uint64_t generation : generations_in(folder)) {
    newest = generation;
    const std::string bytes = read_from(log_name(folder, generation), 0);
    spool.offsets_[generation] = records::each_log_record(bytes, [&](std::string_view record) {
      if (const auto order = records::decode_to_agent(record); order.has_value()) {
        if (const auto* launch = std::get_if<LaunchStep>(&*order)) {
          steps[launch->id] = Known{launch->id, launch->node_name, std::nullopt};
          spool.open_[launch->id] = generation;
        } else if (const auto* acknowledged = std::get_if<AcknowledgeStep>(&*order)) {
          steps.erase(acknowledged->id);
          spool.open_.erase(acknowledged->id);
        }
      } else if (const auto report = records::decode_from_agent(record); report.has_value()) {
        if (const auto* done = std::get_if<StepDone>(&*report); done != nullptr && steps.contains(done->id)) {
          steps[done->id].done = *done;
        }
      }
    });
  }
  TRY(spool.open_log(newest + 1));
  for (auto& [id, step] : steps) known.push_back(std::move(step));
  return spool;
}

Status Spool::open_log(std::uint64_t generation) {
  const std::string path = log_name(folder_, generation);
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "cannot write " + path, std::strerror(errno));
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  path_ = path;
  generation_ = generation;
  size_ = 0;
  offsets_[generation] = 0;
  return {};
}

Status Spool::append(const std::string& bytes) {
  if (::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::kUnavailable, "cannot write " + path_, std::strerror(errno));
  }
  size_ += bytes.size();
  return {};
}

Status Spool::launched(const std::vector<const LaunchStep*>& steps) {
  if (size_ > kRotateBytes) rotate();
  std::string bytes;
  for (const LaunchStep* step : steps) {
    bytes += records::log_record(records::encode_message(ToAgent(without_bulk(*step))));
    open_[step->id] = generation_;
  }
  TRY(append(bytes));
  if (::fdatasync(fd_) != 0) return fail(ErrorCode::kUnavailable, "cannot sync " + path_, std::strerror(errno));
  return {};
}

void Spool::acknowledged(const StepId& step) {
  const auto found = open_.find(step);
  if (found == open_.end()) return;
  open_.erase(found);
  ends_.erase(step);
  [[maybe_unused]] const Status ignored = append(records::log_record(records::encode_message(ToAgent(AcknowledgeStep{step}))));
}

bool Spool::has_steps_of(const StepId& step) const {
  const auto first = open_.lower_bound({step.job, step.attempt, 0});
  return first != open_.end() && first->first.job == step.job && first->first.attempt == step.attempt;
}

/// Starts a new log and deletes those of which no step is open.
void Spool::rotate() {
  std::set<std::uint64_t> used;
  for (const auto& [step, generation] : open_) used.insert(generation);
  if (!open_log(generation_ + 1).has_value()) return;
  for (const std::uint64_t generation : generations_in(folder_)) {
    if (generation == generation_ || used.contains(generation)) continue;
    ::unlink(log_name(folder_, generation).c_str());
    offsets_.erase(generation);
  }
}

void Spool::read_new(const std::string& path, std::size_t& offset) {
  offset += records::each_log_record(read_from(path, offset), [&](std::string_view record) {
    const auto report = records::decode_from_agent(record);
    if (!report.has_value()) return;
    if (const auto* done = std::get_if<StepDone>(&*report); done != nullptr && open_.contains(done->id)) ends_[done->id] = *done;
  });
}

std::optional<StepDone> Spool::find_end(const StepId& step) {
  const auto found = open_.find(step);
  if (found == open_.end()) return std::nullopt;
  read_new(log_name(folder_, found->second), offsets_[found->second]);
  const auto end = ends_.find(step);
  if (end == ends_.end()) return std::nullopt;
  return end->second;
}

}  // namespace muster
