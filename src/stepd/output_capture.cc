// Output is kept in files of the node's spool, one for each rank and stream, beside what the user
// sees in his own file. The controller's store numbers bytes by the offsets in these files, so that
// what a disk refused must leave no bytes out silently: a line says what is missing.
#include "stepd/output_capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "slurm/spool_path.h"

namespace muster {
namespace {

std::string loss_line(std::uint64_t bytes) {
  return fmt::format(
      "\n[muster: {} bytes of output are missing here: the node's disk did not take them]\n",
      bytes);
}

/// How many of the bytes were written. `fd` below 0: none.
std::size_t write_what_fits(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (fd >= 0 && done < bytes.size()) {
    const ssize_t size = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    done += static_cast<std::size_t>(size);
  }
  return done;
}

}  // namespace

std::unique_ptr<OutputCapture> OutputCapture::make(const LaunchStep& launch,
                                                   const StepdOptions& options) {
  const bool is_spread = launch.job_cpus.size() > 1;
  // Of a trial on several nodes its first step does the work, and the batch script only starts it.
  const bool is_kept = launch.step == nullptr || (is_spread && launch.id.step == 0);
  if (launch.job->trial.value() == 0 || !is_kept) return nullptr;
  return std::unique_ptr<OutputCapture>(new OutputCapture(launch, output_folder(options.spool)));
}

OutputCapture::OutputCapture(const LaunchStep& launch, std::string folder)
    : launch_(launch), folder_(std::move(folder)) {
  ::mkdir(folder_.c_str(), 0700);  // what cannot be opened in it later is lost
  reserve_room();
}

void OutputCapture::reserve_room() {
  // Held without a name, for the line that says what is missing on a full disk.
  const std::string room(8192, ' ');
  reserve_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (write_what_fits(reserve_, room) < room.size()) give_up_reserve();
}

void OutputCapture::give_up_reserve() {
  if (reserve_ >= 0) ::close(reserve_);
  reserve_ = -1;
}

OutputCapture::~OutputCapture() {
  give_up_reserve();
  for (const auto& [stream, file] : files_) {
    if (file.fd >= 0) ::close(file.fd);
  }
}

// Ranks are found by the prefixes of launchers in one process's output (RankSplitter).
RankSplitter& OutputCapture::splitter_of(const StreamOf& task) {
  const auto known = splitters_.find(task);
  if (known != splitters_.end()) return known->second;
  RankSplitter::Options options;
  options.own_rank = task.first;
  options.is_local_known = launch_.job_cpus.size() == 1;
  return splitters_.emplace(task, RankSplitter(options)).first->second;
}

void OutputCapture::add(std::uint32_t task_rank, LogStream stream, std::string_view bytes) {
  std::map<StreamOf, std::string> pieces;
  splitter_of({task_rank, stream}).add(bytes, [&](std::uint32_t rank, std::string_view piece) {
    pieces[{rank, stream}] += piece;
  });
  // By rank and stream: each piece has its own file.
  for (const auto& [of, piece] : pieces) write(of, piece);
}

void OutputCapture::finish() {
  for (auto& [task, splitter] : splitters_) {
    std::map<StreamOf, std::string> pieces;
    splitter.finish([&, stream = task.second](std::uint32_t rank, std::string_view piece) {
      pieces[{rank, stream}] += piece;
    });
    for (const auto& [of, piece] : pieces) write(of, piece);
  }
  // On a full disk this makes the room for the line that says what is missing.
  give_up_reserve();
  for (const auto& [of, file] : files_) write(of, "");
}

std::string OutputCapture::path_of(const StreamOf& stream) const {
  const OutputFileName name{launch_.id,   launch_.job->trial, launch_.node_rank,
                            stream.first, stream.second,      launch_.job->runs_before};
  return folder_ + "/" + output_file_text(name);
}

void OutputCapture::write(const StreamOf& stream, std::string_view bytes) {
  File& file = files_[stream];
  if (file.fd < 0)
    file.fd = ::open(path_of(stream).c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  // The loss is told before anything that follows it.
  if (file.missing > 0) {
    const std::string told = loss_line(file.missing);
    // A part of that line may stand there already; the next try repeats it whole.
    if (write_what_fits(file.fd, told) == told.size()) file.missing = 0;
  }
  if (file.missing == 0) bytes.remove_prefix(write_what_fits(file.fd, bytes));
  file.missing += bytes.size();
}

}  // namespace muster
