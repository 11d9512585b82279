// Sends what trials' tasks wrote on this node to the controller, from the files in which
// supervisors store it. Single-threaded and without I/O of its own.
//
// A file here:  unknown ──asked how much of it is stored──▶ known ──sent, answered, sent …──▶ its
// step over and all stored ──▶ removed
//
// The controller says how much of each file it has on stable storage; nothing of that is stored
// here. After a lost connection, a restart of either side or an answer that stays away every file
// is asked for anew, so no byte is lost or stored twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/agent_message.h"
#include "slurm/spool_path.h"

namespace muster {

struct OutputFile {
  OutputFileName name;
  std::uint64_t size = 0;
};

/// Bytes of a file from `offset` on, which lies behind the offset that was asked for where the file
/// has given that up.
struct OutputPiece {
  std::uint64_t offset = 0;
  std::string bytes;
};

class OutputWorld {
 public:
  virtual ~OutputWorld() = default;
  virtual std::vector<OutputFile> output_files() = 0;
  /// Returns at most `bytes_max` bytes. Requires: offset < size.
  virtual OutputPiece read_output(const OutputFileName& name, std::uint64_t offset,
                                  std::size_t bytes_max) = 0;
  /// Frees what lies before `offset`, which is not needed any more, in whole blocks.
  virtual void give_up_output(const OutputFileName& name, std::uint64_t offset) = 0;
  virtual void remove_output(const OutputFileName& name) = 0;
  /// True while something may still be written.
  virtual bool is_step_live(const StepId& step) = 0;
  virtual void send_output(const OutputSent& output) = 0;
};

class OutputShipper {
 public:
  struct Options {
    std::size_t window_bytes = std::size_t{1} << 20;  ///< under way at once, of all files
    std::size_t piece_bytes = std::size_t{64} << 10;
    std::uint64_t spool_bytes =
        std::uint64_t{1}
        << 30;  ///< more than that is not kept: the oldest of the longest file goes
    Duration timeout = Duration::seconds(10);  ///< then an answer counts as lost
  };
  OutputShipper(OutputWorld& world, Options options) : world_(world), options_(options) {}

  void on_connected(TimePoint now);
  void on_disconnected();
  /// Looks for what is new and sends it. It is called every 200 ms, and before a step's end is
  /// reported.
  void on_tick(TimePoint now);
  void on_received(const OutputReceived& answer, TimePoint now);
  /// True while files of the step are here: the controller has not said that it has all of them to
  /// their end.
  bool has_output_of(const StepId& step) const;
  /// Returns how many bytes were sent and not answered.
  std::uint64_t bytes_under_way() const;

 private:
  struct File {
    std::uint64_t size = 0;
    std::uint64_t sent = 0;
    std::uint64_t stored = 0;    ///< by the controller
    std::uint64_t given_up = 0;  ///< bytes before it are not in the file any more
    bool is_asked = false;
    bool is_known = false;  ///< `stored` is what the controller says
    bool is_live = true;
    bool is_end_sent = false;
  };
  void look();
  void ask_anew();
  void send(TimePoint now);
  bool send_piece(const OutputFileName& name, File& file, TimePoint now);
  void enforce_bounds();
  OutputSent message_of(const OutputFileName& name, TimePoint now) const;

  OutputWorld& world_;
  Options options_;
  std::map<OutputFileName, File> files_;
  std::map<LogStreamId, OutputFileName> names_;
  OutputFileName last_served_;  ///< the next piece is of the file behind it
  bool is_connected_ = false;
  TimePoint last_answer_;  ///< or when nothing was under way
};

}  // namespace muster
