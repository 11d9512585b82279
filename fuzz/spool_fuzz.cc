// An agent's spool as a crash, a full disk or another program left it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/spool.h"
#include "fuzz/fuzz.h"
#include "records/log_record.h"
#include "records/page_codec.h"

namespace muster::fuzz {
namespace {

std::string record(const FromAgent& message) {
  return records::log_record(records::encode_message(message));
}
std::string record(const ToAgent& message) {
  return records::log_record(records::encode_message(message));
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/muster-spool-fuzz.XXXXXX"
                                                           : "/tmp/muster-spool-fuzz.XXXXXX";
    FUZZ_EXPECT(::mkdtemp(name.data()) != nullptr, "no folder can be made");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove(entry.path());
  }

 private:
  std::string path_;
};

}  // namespace

void read_spool(std::string_view log) {
  static const Folder kFolder;
  kFolder.clear();
  std::ofstream(kFolder.path() + "/steps.1.log", std::ios::binary)
      .write(log.data(), static_cast<std::streamsize>(log.size()));
  std::vector<Spool::Known> known;
  auto spool = Spool::open(kFolder.path(), known);
  if (!spool.has_value()) return;
  for (const Spool::Known& step : known) {
    (void)spool->find_end(step.id);
    spool->acknowledged(step.id);
  }
  // It is of use again, whatever it held.
  LaunchStep launch;
  launch.id = StepId{JobId(77), 0, kBatchStep};
  launch.job = std::make_shared<const JobSpec>();
  launch.step = std::make_shared<const StepSpec>();
  FUZZ_EXPECT(spool->launched({&launch}).has_value(), "a spool that takes nothing more");
}

std::vector<std::string> seeds() {
  LaunchStep launch;
  launch.id = StepId{JobId(1), 0, kBatchStep};
  launch.node_name = "n0";
  launch.job = std::make_shared<const JobSpec>();
  launch.step = std::make_shared<const StepSpec>();
  StepDone done;
  done.id = launch.id;
  done.tasks = {ExitStatus{}};
  RegisterNode whom;
  whom.node_name = "n0";
  whom.cluster_id = "cluster";
  whom.epoch = Epoch(3);
  whom.job_floor = JobId(9);
  const std::string all = record(FromAgent(whom)) + record(ToAgent(launch)) +
                          record(FromAgent(done)) + record(ToAgent(AcknowledgeStep{launch.id}));
  return {all, record(ToAgent(launch)) + record(FromAgent(done)), record(FromAgent(whom)),
          all.substr(0, all.size() - 7)};
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::read_spool(muster::fuzz::bytes_of(data, size));
  return 0;
}
