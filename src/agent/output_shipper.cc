// Of each file three offsets matter: sent, stored (acknowledged by the controller) and given_up
// (freed on the disk). Bytes between stored and sent are under way and bounded by the window. Only
// the store knows how far it is: after each connection, and when it has been silent for too long,
// it is asked again.
#include "agent/output_shipper.h"

#include <algorithm>

namespace muster {
namespace {

/// What is stored is given up in steps of so many bytes: each is a call of the file system.
constexpr std::uint64_t kGiveUpBytes = 1 << 20;

}  // namespace

void OutputShipper::on_connected(TimePoint now) {
  is_connected_ = true;
  last_answer_ = now;
  ask_anew();
  on_tick(now);
}

void OutputShipper::on_disconnected() { is_connected_ = false; }

/// Forgets what was sent: the controller is asked how much of each file it has.
void OutputShipper::ask_anew() {
  for (auto& [name, file] : files_) {
    file.is_asked = file.is_known = file.is_end_sent = false;
    file.sent = file.stored;
  }
}

void OutputShipper::on_tick(TimePoint now) {
  look();
  enforce_bounds();
  const bool is_waiting = std::ranges::any_of(files_, [](const auto& entry) {
    const File& file = entry.second;
    return file.is_asked && (!file.is_known || file.sent > file.stored || file.is_end_sent);
  });
  // Nothing is owed: the silence begins with the next piece.
  if (!is_waiting) last_answer_ = now;
  if (is_connected_ && now - last_answer_ > options_.timeout) {
    last_answer_ = now;
    ask_anew();
  }
  send(now);
}

/// Whether a step is live is asked before its file's size: the size of one that is not is its last.
void OutputShipper::look() {
  std::map<StepId, bool> live;
  for (const auto& [name, file] : files_)
    live.try_emplace(name.step, world_.is_step_live(name.step));
  for (const OutputFile& found : world_.output_files()) {
    const auto [entry, is_new] = files_.try_emplace(found.name);
    // The reverse of the name: answers come by stream.
    if (is_new) names_[found.name.id()] = found.name;
    const auto known = live.find(found.name.step);
    entry->second.is_live = known == live.end() || known->second;
    entry->second.size = found.size;
  }
}

OutputSent OutputShipper::message_of(const OutputFileName& name, TimePoint now) const {
  const LogStreamId id = name.id();
  OutputSent output;
  output.fragment.owner = id.owner;
  output.fragment.run = id.run;
  output.fragment.rank = id.rank;
  output.fragment.stream = id.stream;
  output.fragment.source = id.source;
  output.fragment.received_time = now;
  return output;
}

bool OutputShipper::send_piece(const OutputFileName& name, File& file, TimePoint now) {
  OutputSent output = message_of(name, now);
  // A piece without bytes asks how far the store is: nobody else knows.
  if (!file.is_asked) {
    file.is_asked = true;
    world_.send_output(output);
    return true;
  }
  if (!file.is_known || file.is_end_sent || (file.sent >= file.size && file.is_live)) return false;
  output.fragment.offset = file.sent;
  // What is read may begin later than asked for: bytes before it were given up.
  if (file.sent < file.size) {
    OutputPiece piece = world_.read_output(name, file.sent, options_.piece_bytes);
    if (piece.bytes.empty()) return false;  // the disk refuses: later
    output.fragment.offset = piece.offset;
    output.fragment.bytes = std::move(piece.bytes);
    file.sent = output.fragment.offset + output.fragment.bytes.size();
  }
  output.fragment.is_end = file.is_end_sent = !file.is_live && file.sent >= file.size;
  world_.send_output(output);
  return true;
}

/// A piece of each file in turn, while there is room.
void OutputShipper::send(TimePoint now) {
  if (!is_connected_) return;
  for (std::size_t idle = 0; idle < files_.size() && bytes_under_way() < options_.window_bytes;) {
    auto next = files_.upper_bound(last_served_);
    if (next == files_.end()) next = files_.begin();
    last_served_ = next->first;
    idle = send_piece(next->first, next->second, now) ? 0 : idle + 1;
  }
}

void OutputShipper::on_received(const OutputReceived& answer, TimePoint now) {
  last_answer_ = now;
  const auto name = names_.find(answer.stream);
  if (name == names_.end()) return;
  const auto entry = files_.find(name->second);
  File& file = entry->second;
  // Answers to what was sent before the files were asked for anew may still come: they are as true.
  file.stored = answer.next_offset;
  file.sent = file.is_known ? std::max(file.sent, file.stored) : file.stored;
  file.is_known = file.is_known || file.is_asked;
  // Removed only when the store has the end, too: nobody else has these bytes.
  if (answer.is_end && file.is_end_sent && file.stored >= file.size) {
    world_.remove_output(entry->first);
    files_.erase(entry);
    names_.erase(name);
  } else if (std::min(file.stored, file.size) >= file.given_up + kGiveUpBytes) {
    file.given_up = std::min(file.stored, file.size);
    world_.give_up_output(entry->first, file.given_up);
  }
  send(now);
}

/// A long silence of the controller must not fill the node's disk.
void OutputShipper::enforce_bounds() {
  std::uint64_t kept = 0;
  for (const auto& [name, file] : files_)
    kept += file.size - std::min(file.size, std::max(file.stored, file.given_up));
  while (kept > options_.spool_bytes) {
    const auto size = [](const auto& entry) {
      const File& file = entry.second;
      return file.size - std::min(file.size, std::max(file.stored, file.given_up));
    };
    // Of the longest file, so that one task that writes much costs the others nothing.
    auto longest = std::ranges::max_element(files_, {}, size);
    const std::uint64_t less =
        std::min(size(*longest), std::max(kept - options_.spool_bytes, kGiveUpBytes));
    File& file = longest->second;
    file.given_up = std::max(file.stored, file.given_up) + less;
    world_.give_up_output(longest->first, file.given_up);
    kept -= less;
  }
}

bool OutputShipper::has_output_of(const StepId& step) const {
  return std::ranges::any_of(files_, [&](const auto& entry) { return entry.first.step == step; });
}

std::uint64_t OutputShipper::bytes_under_way() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : files_) bytes += file.sent - std::min(file.sent, file.stored);
  return bytes;
}

}  // namespace muster
