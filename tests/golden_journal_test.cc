// Journals of every format and event kind that was ever written replay to the hashes recorded
// beside them.
//   MUSTER_UPDATE_GOLDEN=1    records the hashes anew: for a change of what the hash covers, which
//   raises kStateHashFormat, too MUSTER_UPDATE_GOLDEN=new  adds a journal as this version writes
//   it: for a new event kind or format
// A committed journal itself is never changed: sites have such files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/check.h"
#include "engine/recovery.h"
#include "journal/sqlite_journal.h"
#include "state/testing.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder() {
  const char* source = std::getenv("MUSTER_SOURCE_DIR");
  CHECK(source != nullptr, "MUSTER_SOURCE_DIR, which ctest sets, says where the sources lie");
  return fs::path(source) / "tests/golden/journal";
}
std::string wish() {
  const char* value = std::getenv("MUSTER_UPDATE_GOLDEN");
  return value == nullptr ? "" : value;
}

/// A folder that goes with the test.
struct Scratch {
  Scratch() : path(fs::temp_directory_path() / fmt::format("muster-golden.{}", ::getpid())) {
    fs::create_directories(path);
  }
  ~Scratch() { fs::remove_all(path); }
  fs::path path;
};

std::unique_ptr<Journal> opened(const fs::path& path) {
  auto journal = open_sqlite_journal({path.string()});
  EXPECT_TRUE(journal.has_value()) << journal.error().text();
  return journal.has_value() ? std::move(journal).value() : nullptr;
}

std::vector<fs::path> golden_journals() {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(golden_folder())) {
    if (entry.path().extension() == ".db") found.insert(entry.path());
  }
  return {found.begin(), found.end()};
}

/// One line per batch, replayed from the first, then one for the state that recovery makes of
/// checkpoint and rest.
std::string replayed(const fs::path& golden, std::set<std::size_t>& kinds) {
  const Scratch scratch;
  fs::copy_file(golden, scratch.path / "journal.db");
  const auto journal = opened(scratch.path / "journal.db");
  if (journal == nullptr) return "";
  std::string text;
  ClusterState state;
  const Status read_all = journal->follow(Seq(0), [&](const EventBatch& batch) {
    state.apply(batch);
    for (const Event& event : batch.events) kinds.insert(event.body.index());
    text += fmt::format("batch {} jobs {} hash {:016x}\n", state.seq().value(), state.jobs().size(),
                        state.hash());
    return Status();
  });
  EXPECT_TRUE(read_all.has_value()) << read_all.error().text();
  ClusterState recovered;
  const auto is_recovered = recover(*journal, recovered, nullptr);
  EXPECT_TRUE(is_recovered.has_value()) << is_recovered.error().text();
  return text + fmt::format("recovered {} jobs {} hash {:016x}\n", recovered.seq().value(),
                            recovered.jobs().size(), recovered.hash());
}

void add_journal(const fs::path& path) {
  testing::Log log;
  testing::add_everything(log);
  const auto journal = opened(path);
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ClusterState state;
  for (const EventBatchRef& batch : log.batches()) {
    ASSERT_TRUE(journal->append({batch}).has_value());
    state.apply(*batch);
    if (state.seq().value() != log.batches().size() / 2) continue;
    ASSERT_TRUE(journal->begin_checkpoint().has_value());
    ASSERT_TRUE(write_checkpoint(state, [&](std::string slice) {
                  return journal->add_slice(slice);
                }).has_value());
    ASSERT_TRUE(journal->finish_checkpoint(seal_of(state)).has_value());
  }
}

TEST(GoldenJournal, EveryCommittedJournalReplaysToItsHashes) {
  if (wish() == "new") {
    const auto count = golden_journals().size();
    add_journal(golden_folder() / fmt::format("{:03}.db", count + 1));
  }
  std::set<std::size_t> kinds;
  ASSERT_FALSE(golden_journals().empty());
  for (const fs::path& golden : golden_journals()) {
    SCOPED_TRACE(golden);
    EXPECT_LT(fs::file_size(golden), 100'000U);
    const std::string found = replayed(golden, kinds);
    const fs::path recorded = fs::path(golden).replace_extension(".hashes");
    if (!wish().empty()) std::ofstream(recorded) << found;
    std::ostringstream expected;
    expected << std::ifstream(recorded).rdbuf();
    EXPECT_EQ(found, expected.str());
  }
  for (std::size_t kind = 0; kind < EventBody::KindList::kSize; ++kind) {
    EXPECT_TRUE(kinds.contains(kind)) << "no golden journal has an event of kind " << kind
                                      << ": add one with MUSTER_UPDATE_GOLDEN=new";
  }
}

}  // namespace
}  // namespace muster
