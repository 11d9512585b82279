#include "stepd/output_capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "codec/spool_path.h"

namespace muster {

std::unique_ptr<OutputCapture> OutputCapture::make(const LaunchStep& launch, const StepdOptions& options) {
  const bool is_spread = launch.job_cpus.size() > 1;
  const bool is_kept = launch.step == nullptr || (is_spread && launch.id.step == 0);
  if (launch.job->trial.value() == 0 || !is_kept) return nullptr;
  return std::unique_ptr<OutputCapture>(new OutputCapture(launch, output_folder(options.spool)));
}

OutputCapture::OutputCapture(const LaunchStep& launch, std::string folder) : launch_(launch), folder_(std::move(folder)) {
  ::mkdir(folder_.c_str(), 0700);  // what cannot be opened in it later is lost
}

OutputCapture::~OutputCapture() {
  for (const auto& [stream, fd] : files_) ::close(fd);
}

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
  splitter_of({task_rank, stream}).add(bytes, [&](std::uint32_t rank, std::string_view piece) { pieces[{rank, stream}] += piece; });
  write(pieces);
}

void OutputCapture::finish() {
  for (auto& [task, splitter] : splitters_) {
    std::map<StreamOf, std::string> pieces;
    splitter.finish([&, stream = task.second](std::uint32_t rank, std::string_view piece) { pieces[{rank, stream}] += piece; });
    write(pieces);
  }
}

void OutputCapture::write(const std::map<StreamOf, std::string>& pieces) {
  for (const auto& [stream, piece] : pieces) {
    auto file = files_.find(stream);
    if (file == files_.end()) {
      const OutputFileName name{launch_.id, launch_.job->trial, launch_.node_rank, stream.first, stream.second,
                                launch_.job->runs_before};
      const std::string path = folder_ + "/" + output_file_text(name);
      const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (fd < 0) continue;
      file = files_.emplace(stream, fd).first;
    }
    std::string_view left = piece;
    while (!left.empty()) {
      const ssize_t size = ::write(file->second, left.data(), left.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(size));
    }
  }
}

}  // namespace muster
