#include "checkpoint_log.h"

#include <algorithm>

#include "log.h"

namespace muster::core {
namespace {

constexpr const char* kFile = "checkpoints.jsonl";

bool is_remote(const std::string& place) { return place.find("://") != std::string::npos; }

void forget(std::vector<std::string>& uuids, const std::string& uuid) {
  uuids.erase(std::remove(uuids.begin(), uuids.end(), uuid), uuids.end());
}

}  // namespace

CheckpointLog::CheckpointLog(RunFolder& folder, Storage storage, CheckpointObserver observer)
    : folder_(folder),
      storage_(std::move(storage)),
      observer_(std::move(observer)),
      log_(folder.path() / kFile) {
  std::vector<std::string> order;
  std::map<std::string, std::string> last;
  for (const Value& line : read_lines(folder_.path() / kFile)) {
    const std::string event = line["event"].as_text();
    const std::string uuid = line["uuid"].as_text();
    if (last.count(uuid) == 0) order.push_back(uuid);
    last[uuid] = event;
    if (event == "announced") {
      const std::string place = line["storage"].as_text();
      if (is_remote(place)) {
        log_line("checkpoint " + uuid + " that an earlier run began in " + place +
                 " is left as it is: storage is now " + storage_.folder().string());
        order.pop_back();
        continue;
      }
      announced_.insert_or_assign(
          uuid, Announced{uuid, line["run"].as_int(), Storage(folder_.path() / place)});
    }
    if (event == "completed") completed_.push_back(uuid);
  }
  for (const std::string& uuid : order) make_good(uuid, last[uuid]);
  for (const std::string& uuid : order) {
    if (last[uuid] == "deleted") forget(completed_, uuid);
  }
}

Announced CheckpointLog::of(const std::string& uuid) const {
  const auto found = announced_.find(uuid);
  return found == announced_.end() ? Announced{uuid, folder_.run(), storage_} : found->second;
}

/// What a crash kept from being said or done after the last event of a checkpoint.
void CheckpointLog::make_good(const std::string& uuid, const std::string& event) {
  Announced announced = of(uuid);
  const bool is_whole = announced.storage.is_whole(uuid);
  const bool is_partial = !is_whole && announced.storage.has_partial(uuid);
  if (event == "announced" && is_whole) {
    append("completed", uuid);
    completed_.push_back(uuid);
  } else if (event == "announced") {
    append("discarded", uuid);
  } else if (is_partial && (event == "completed" || event == "partially_deleted")) {
    append("deleted", uuid);
    forget(completed_, uuid);
  }
  if (is_partial) announced.storage.discard(uuid);
}

void CheckpointLog::append(const std::string& event, const std::string& uuid, Value::Map more) {
  observer_(event, of(uuid));
  more.insert({{"event", event}, {"uuid", uuid}, {"run", folder_.run()}, {"time", now()}});
  log_.append({Value(std::move(more))});
}

void CheckpointLog::announce(const std::string& uuid) {
  folder_.check_current();
  announced_.insert_or_assign(uuid, Announced{uuid, folder_.run(), storage_});
  const bool is_inside = storage_.folder() == folder_.path() / "checkpoints";
  append("announced", uuid, {{"storage", is_inside ? "checkpoints" : storage_.folder().string()}});
}

void CheckpointLog::complete(const std::string& uuid, std::int64_t steps_completed) {
  std::int64_t size = 0;
  for (const auto& [path, bytes] : storage_.resources(uuid)) size += bytes;
  append("completed", uuid, {{"steps_completed", steps_completed}, {"size_bytes", size}});
  completed_.push_back(uuid);
}

void CheckpointLog::discard(const std::string& uuid) { append("discarded", uuid); }

void CheckpointLog::remove(const std::string& uuid) {
  append("deleted", uuid);
  forget(completed_, uuid);
}

std::optional<std::string> CheckpointLog::latest() const {
  const auto found =
      std::find_if(completed_.rbegin(), completed_.rend(),
                   [this](const std::string& uuid) { return storage_.is_whole(uuid); });
  return found == completed_.rend() ? std::nullopt : std::optional(*found);
}

std::optional<std::string> latest_in(const Path& run_folder, const Storage& storage) {
  std::optional<std::string> latest;
  std::vector<std::string> begun;
  for (const Value& line : read_lines(run_folder / kFile)) {
    const std::string event = line["event"].as_text();
    const std::string uuid = line["uuid"].as_text();
    if (event == "announced") begun.push_back(uuid);
    if (event != "announced") forget(begun, uuid);
    if (event == "completed" && storage.is_whole(uuid)) latest = uuid;
  }
  for (const std::string& uuid : begun) {
    if (storage.is_whole(uuid)) latest = uuid;
  }
  return latest;
}

}  // namespace muster::core
