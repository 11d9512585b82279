// A spool is a series of logs steps.N.log, of which the newest is written. Supervisors append the
// ends of their steps to the log in which the launch stands. A start reads all logs in order; a log
// is deleted when no step of it is open. A launch is synced before its supervisor starts; an
// acknowledgement is not, because losing it costs one more report.
#include "agent/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "env/posix/own_folder.h"
#include "env/posix/write_whole.h"
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
  brief.cluster_id = launch.cluster_id;
  brief.epoch = launch.epoch;
  brief.node_name = launch.node_name;
  brief.launch_key = launch.launch_key;
  return brief;
}

/// A step's number may come again after an older copy of the controller's state was put back.
/// Supervisors of earlier versions say no key.
bool is_of_launch(const StepDone& done, std::uint64_t launch_key) {
  return done.launch_key == 0 || done.launch_key == launch_key;
}

struct LogBytes {
  std::string bytes;
  bool is_whole = false;  ///< false: reading ended with an error
};
LogBytes read_from(const std::string& path, std::size_t offset) {
  LogBytes read;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return read;
  char buffer[65536];
  auto place = static_cast<off_t>(offset);
  ssize_t n = 0;
  for (; (n = ::pread(fd, buffer, sizeof buffer, place)) > 0; place += n) {
    read.bytes.append(buffer, static_cast<std::size_t>(n));
  }
  read.is_whole = n == 0;
  ::close(fd);
  return read;
}

std::vector<std::uint64_t> generations_in(const std::string& folder) {
  std::vector<std::uint64_t> found;
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return found;
  while (const dirent* entry = ::readdir(entries)) {
    if (std::strncmp(entry->d_name, "steps.", 6) == 0)
      found.push_back(std::strtoull(entry->d_name + 6, nullptr, 10));
  }
  ::closedir(entries);
  std::ranges::sort(found);
  return found;
}

/// The name of a new file is kept with its folder, not with what is written to it.
void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

std::string log_name(const std::string& folder, std::uint64_t generation) {
  return fmt::format("{}/steps.{}.log", folder, generation);
}

}  // namespace

Spool::Spool(Spool&& other) noexcept
    : folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      identity_(std::move(other.identity_)),
      generation_(other.generation_),
      size_(other.size_),
      damage_(std::move(other.damage_)),
      known_damage_(other.known_damage_),
      open_(std::move(other.open_)),
      offsets_(std::move(other.offsets_)),
      ends_(std::move(other.ends_)) {}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

Result<Spool> Spool::open(const std::string& folder, std::vector<Known>& known) {
  TRY(make_own_folder(folder, 0755, "the spool"));
  Spool spool(folder);
  TRY(spool.lock());
  std::map<StepId, Known> steps;
  std::uint64_t newest = 0;
  // In order: later records supersede earlier ones.
  for (const std::uint64_t generation : generations_in(folder)) {
    newest = generation;
    spool.read_log(generation, steps);
  }
  // Damage that the controller has been asked about is not asked about again.
  spool.identity_.has_lost_records |= spool.all_damage() > spool.known_damage_;
  spool.known_damage_ = std::min(spool.known_damage_, spool.all_damage());
  // A new log at each start: supervisors of before know theirs by name.
  TRY(spool.open_log(newest + 1));
  // On a full disk the older logs still say it.
  [[maybe_unused]] const Status ignored = spool.append(spool.identity_record());
  for (auto& [id, step] : steps) known.push_back(std::move(step));
  return spool;
}

/// Two agents with one spool would each take the other's steps for lost.
Status Spool::lock() {
  const std::string path = folder_ + "/agent.lock";
  lock_fd_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_fd_ < 0)
    return fail(ErrorCode::kUnavailable, "cannot open " + path, std::strerror(errno));
  if (::flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return {};
  return fail(ErrorCode::kAlreadyExists, "another agent uses the spool " + folder_,
              "stop it first");
}

void Spool::read_log(std::uint64_t generation, std::map<StepId, Known>& steps) {
  const LogBytes log = read_from(log_name(folder_, generation), 0);
  std::uint64_t& damage = damage_[generation];
  damage = log.is_whole ? 0 : 1;
  const auto take = [&](std::string_view record) {
    if (const auto order = records::decode_to_agent(record); order.has_value()) {
      if (const auto* launch = get_if<LaunchStep>(&*order)) {
        steps[launch->id] = Known{launch->id, launch->node_name, launch->launch_key, std::nullopt};
        open_[launch->id] = {generation, launch->launch_key};
        identity_.job_floor = std::max(identity_.job_floor, launch->id.job);
      } else if (const auto* acknowledged = get_if<AcknowledgeStep>(&*order)) {
        steps.erase(acknowledged->id);
        open_.erase(acknowledged->id);
      }
    } else if (const auto report = records::decode_from_agent(record); report.has_value()) {
      if (const auto* done = get_if<StepDone>(&*report); done != nullptr) {
        const auto step = steps.find(done->id);
        if (step != steps.end() && is_of_launch(*done, step->second.launch_key))
          step->second.done = *done;
      } else if (const auto* self = get_if<RegisterNode>(&*report)) {
        // Everything before belongs to another cluster.
        if (self->cluster_id != identity_.cluster.cluster_id &&
            !identity_.cluster.cluster_id.empty()) {
          steps.clear();
          open_.clear();
        }
        identity_ = {{self->cluster_id, self->epoch}, self->job_floor, self->has_lost_records};
        known_damage_ = self->known_damage;
      }
    } else {
      damage += record.size();
    }
  };
  const records::LogScan scan = records::each_log_record(log.bytes, take);
  offsets_[generation] = scan.end;
  damage += scan.skipped;
}

std::string Spool::identity_record() const {
  RegisterNode self;
  self.cluster_id = identity_.cluster.cluster_id;
  self.epoch = identity_.cluster.epoch;
  self.job_floor = identity_.job_floor;
  self.has_lost_records = identity_.has_lost_records;
  self.known_damage = known_damage_;
  return records::log_record(records::encode_message(FromAgent(self)));
}

Status Spool::adopt(const Identity& identity) {
  const Identity before = identity_;
  if (identity.cluster.cluster_id != before.cluster.cluster_id &&
      !before.cluster.cluster_id.empty()) {
    open_.clear();
    ends_.clear();
  }
  identity_ = identity;
  const std::uint64_t known_before = known_damage_;
  if (!identity.has_lost_records) known_damage_ = all_damage();
  const Status recorded = append(identity_record());
  Status synced = recorded.has_value() ? sync() : recorded;
  if (synced.has_value()) return synced;
  // Memory says what the disk says: the next agent will know no more.
  identity_ = before;
  known_damage_ = known_before;
  return synced;
}

Status Spool::sync() {
  if (::fdatasync(fd_) == 0) return {};
  return fail(disk_error("cannot sync " + path_, errno));
}

Status Spool::probe() {
  TRY(append(identity_record()));
  return sync();
}

Status Spool::open_log(std::uint64_t generation) {
  const std::string path = log_name(folder_, generation);
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(disk_error("cannot write " + path, errno));
  sync_folder(folder_);
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  path_ = path;
  generation_ = generation;
  size_ = 0;
  offsets_[generation] = 0;
  return {};
}

Status Spool::append(const std::string& bytes) {
  // Written on, it would be kept by nobody, and supervisors look for us in the folder.
  struct stat log {};
  struct stat there {};
  // Compared by inode: another file may have its name.
  const bool is_there = ::fstat(fd_, &log) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                        log.st_ino == there.st_ino && log.st_dev == there.st_dev;
  if (!is_there)
    return fail(ErrorCode::kUnavailable, path_ + " was removed or moved while this agent runs",
                "restart the agent");
  if (const int error = write_whole(fd_, bytes); error != 0)
    return fail(disk_error("cannot write " + path_, error));
  size_ += bytes.size();
  return {};
}

Status Spool::launched(const std::vector<const LaunchStep*>& steps) {
  if (size_ > kRotateBytes) rotate();
  std::string bytes;
  for (const LaunchStep* step : steps) {
    bytes += records::log_record(records::encode_message(ToAgent(without_bulk(*step))));
    open_[step->id] = {generation_, step->launch_key};
    identity_.job_floor = std::max(identity_.job_floor, step->id.job);
  }
  // On stable storage before any supervisor starts: after a crash an unrecorded launch would be
  // taken for one that never began.
  TRY(append(bytes));
  return sync();
}

void Spool::acknowledged(const StepId& step) {
  const auto found = open_.find(step);
  if (found == open_.end()) return;
  open_.erase(found);
  ends_.erase(step);
  // Not synced: should a crash take it, the end is reported and acknowledged once more.
  [[maybe_unused]] const Status ignored =
      append(records::log_record(records::encode_message(ToAgent(AcknowledgeStep{step}))));
}

bool Spool::has_steps_of(const StepId& step) const {
  const auto first = open_.lower_bound({step.job, step.attempt, 0});
  return first != open_.end() && first->first.job == step.job &&
         first->first.attempt == step.attempt;
}

std::uint64_t Spool::all_damage() const {
  std::uint64_t sum = 0;
  for (const auto& [generation, damage] : damage_) sum += damage;
  return sum;
}

/// Starts a new log and deletes those of which no step is open.
void Spool::rotate() {
  // A log is needed as long as a launch in it is open: its supervisor appends the end there.
  std::set<std::uint64_t> used;
  for (const auto& [step, place] : open_) used.insert(place.generation);
  std::vector<std::uint64_t> unused = generations_in(folder_);
  std::erase_if(unused, [&](std::uint64_t generation) { return used.contains(generation); });
  // What was asked about goes with its log: else it would hide as much of what is damaged later.
  for (const std::uint64_t generation : unused) damage_.erase(generation);
  known_damage_ = std::min(known_damage_, all_damage());
  // The new log says who this agent serves before the logs that said so are deleted.
  if (!open_log(generation_ + 1).has_value() || !append(identity_record()).has_value()) return;
  for (const std::uint64_t generation : unused) {
    ::unlink(log_name(folder_, generation).c_str());
    offsets_.erase(generation);
  }
}

void Spool::read_new(const std::string& path, std::size_t& offset) {
  const auto take = [&](std::string_view record) {
    const auto report = records::decode_from_agent(record);
    if (!report.has_value()) return;
    const auto* done = get_if<StepDone>(&*report);
    if (done == nullptr) return;
    const auto step = open_.find(done->id);
    if (step != open_.end() && is_of_launch(*done, step->second.launch_key))
      ends_[done->id] = *done;
  };
  // From where reading stopped: ends are appended while we look.
  offset += records::each_log_record(read_from(path, offset).bytes, take).end;
}

std::optional<StepDone> Spool::find_end(const StepId& step) {
  const auto found = open_.find(step);
  if (found == open_.end()) return std::nullopt;
  const std::uint64_t generation = found->second.generation;
  read_new(log_name(folder_, generation), offsets_[generation]);
  const auto end = ends_.find(step);
  if (end == ends_.end()) return std::nullopt;
  return end->second;
}

}  // namespace muster
