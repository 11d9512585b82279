// Whole runs without a controller: what lies in the run folder afterwards, and what the next start
// makes of it.
#include <csignal>
#include <fstream>
#include <limits>

#include "checkpoint_log.h"
#include "files.h"
#include "json.h"
#include "muster/core.hpp"
#include "test_run.h"

namespace muster::core {
namespace {

using Run_ = RunTest;

/// As a script saves and loads it.
std::string save(Context& context, std::int64_t steps, const std::string& text) {
  return context.checkpoint().store(
      steps, [&](const Path& folder) { write_text(folder / "deep" / "state", text); });
}

TEST_F(Run_, KeepsMetricsAsLines) {
  {
    Context context = init();
    context.train().report_training_metrics(
        1, {{"loss", std::numeric_limits<double>::quiet_NaN()}, {"count", 2}}, {{{"loss", 0.5}}});
    context.train().report_validation_metrics(1, {{"accuracy", 0.25}});
    context.train().report_metrics("mine", 1, {{"text", "x"}});
    context.close();
  }
  const std::vector<Value> lines = read_lines(run_dir() / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["metrics"], Value(Value::Map{{"loss", "NaN"}, {"count", 2}}));
  EXPECT_EQ(lines[0]["batch_metrics"], Value(Value::List{Value::Map{{"loss", 0.5}}}));
  EXPECT_EQ(lines[1]["group"], Value("validation"));
  EXPECT_EQ(lines[2]["run"].as_int(), 1);
}

TEST_F(Run_, TakesRepeatsOnceAndRefusesOtherValues) {
  Context context = init();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 2; ++i) context.train().report_training_metrics(5, {{"loss", nan}});
  context.train().report_training_metrics(5, {{"loss", nan}, {"lr", 1}});
  context.train().flush();
  const std::vector<Value> lines = read_lines(run_dir() / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["metrics"], Value(Value::Map{{"lr", 1}}));
  context.train().report_training_metrics(5, {{"lr", 2}});
  EXPECT_THROW(context.train().flush(), MetricConflictError);
  context.train().report_training_metrics(6, {{"lr", 2}});
  EXPECT_NO_THROW(context.close()) << "what was thrown is not thrown again, and the rest is kept";
  EXPECT_EQ(read_lines(run_dir() / "metrics.jsonl").size(), 3U);
}

TEST_F(Run_, RemembersStepsThatAreLongPast) {
  Context context = init();
  for (std::int64_t step = 1; step <= 5000; ++step)
    context.train().report_training_metrics(step, {{"loss", step}});
  context.train().flush();
  context.train().report_training_metrics(1, {{"loss", 1}});
  context.train().flush();
  EXPECT_EQ(read_lines(run_dir() / "metrics.jsonl").size(), 5000U);
  context.train().report_training_metrics(2, {{"loss", 7}});
  EXPECT_THROW(context.train().flush(), MetricConflictError);
}

TEST_F(Run_, RefusesReportsThatAreWrong) {
  Context context = init();
  EXPECT_THROW(context.train().report_training_metrics(-1, {{"a", 1}}), std::invalid_argument);
  EXPECT_THROW(context.train().report_metrics("a.b", 1, {}), std::invalid_argument);
  EXPECT_THROW(context.train().report_metrics("a", 1, {{"x", Value::List{}}}),
               std::invalid_argument);
  for (const char* name : {"", "a\nb", "\x1b[31m", "\xc2\x85", "\xe2\x80\xae", "\xe2\x81\xa6"})
    EXPECT_THROW(context.train().report_metrics("a", 1, {{name, 1}}), std::invalid_argument);
  EXPECT_THROW(context.train().report_metrics("a\tb", 1, {}), std::invalid_argument);
  EXPECT_THROW(context.train().report_progress(1.5), std::invalid_argument);
  EXPECT_THROW(context.train().report_early_exit("boredom"), std::invalid_argument);
  context.close();
  EXPECT_THROW(context.train().report_training_metrics(1, {{"a", 1}}), Error);
}

TEST_F(Run_, GoesOnFromItsLatestCheckpoint) {
  std::string uuid;
  {
    Context context = init();
    EXPECT_FALSE(context.info().latest_checkpoint);
    EXPECT_EQ(context.info().run_id, 1);
    save(context, 1, "first");
    uuid = save(context, 2, "second");
    context.close();
  }
  Context context = init();
  EXPECT_EQ(context.info().run_id, 2);
  EXPECT_EQ(context.info().latest_checkpoint, uuid);
  EXPECT_FALSE(context.info().is_warm_start);
  const Path folder = context.checkpoint().restore_path(uuid);
  EXPECT_EQ(text_of(folder / "deep" / "state"), "second");
  EXPECT_EQ(context.checkpoint().get_metadata(uuid)["steps_completed"].as_int(), 2);
  EXPECT_EQ(read_document(folder / "resources.json"),
            Value(Value::Map{{"deep/", 0}, {"deep/state", 6}}));
}

TEST_F(Run_, LeavesNoCheckpointWhereWritingFails) {
  Context context = init();
  EXPECT_THROW(context.checkpoint().store(1, [](const Path&) { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_THROW(context.checkpoint().store(
                   1, [](const Path& folder) { write_text(folder / "metadata.json", "x"); }),
               CheckpointError);
  EXPECT_THROW(
      context.checkpoint().store(
          1, [](const Path& folder) { std::filesystem::create_symlink("/", folder / "link"); }),
      CheckpointError);
  EXPECT_TRUE(std::filesystem::is_empty(run_dir() / "checkpoints"));
  EXPECT_FALSE(context.checkpoint().latest());
  const auto events = read_lines(run_dir() / "checkpoints.jsonl");
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[5]["event"], Value("discarded"));
}

TEST_F(Run_, RemovesAndUploads) {
  Context context = init();
  write_text(folder_ / "mine" / "a" / "b", "x");
  const std::string kept = context.checkpoint().upload(1, folder_ / "mine", {{"who", "me"}});
  const std::string gone = save(context, 2, "x");
  context.checkpoint().remove(gone);
  EXPECT_EQ(context.checkpoint().latest(), kept);
  EXPECT_EQ(context.checkpoint().get_metadata(kept)["who"], Value("me"));
  EXPECT_THROW(context.checkpoint().restore_path(gone), CheckpointNotFoundError);
  EXPECT_THROW(context.checkpoint().restore_path("/nowhere"), CheckpointNotFoundError);
  EXPECT_THROW(context.checkpoint().upload(1, folder_ / "none"), CheckpointError);
}

/// A run folder as a kill between any two steps leaves it.
TEST_F(Run_, MakesGoodWhatACrashCutShort) {
  const std::string whole = new_uuid(), partial = new_uuid(), half_gone = new_uuid();
  for (const std::string& uuid : {whole, half_gone + ".partial", partial + ".partial"}) {
    write_text(run_dir() / "checkpoints" / uuid / "metadata.json", "{\"steps_completed\": 3}");
    write_text(run_dir() / "checkpoints" / uuid / "resources.json", "{}");
  }
  std::string log;
  const auto line = [&log](const std::string& event, const std::string& uuid) {
    log += json_of(Value::Map{{"event", event},
                              {"uuid", uuid},
                              {"run", 1},
                              {"time", 1.5},
                              {"storage", "checkpoints"}}) +
           "\n";
  };
  line("announced", whole);
  line("announced", partial);
  line("announced", half_gone);
  line("completed", half_gone);
  write_text(run_dir() / "checkpoints.jsonl", log + "{\"event\": \"torn");
  EXPECT_EQ(latest_in(run_dir(), Storage(run_dir() / "checkpoints")), whole)
      << "what the other ranks see";
  Context context = init();
  EXPECT_EQ(context.info().latest_checkpoint, whole);
  std::map<std::string, std::string> last;
  for (const Value& each : read_lines(run_dir() / "checkpoints.jsonl"))
    last[each["uuid"].as_text()] = each["event"].as_text();
  EXPECT_EQ(last, (std::map<std::string, std::string>{
                      {whole, "completed"}, {partial, "discarded"}, {half_gone, "deleted"}}));
  EXPECT_FALSE(std::filesystem::exists(run_dir() / "checkpoints" / (partial + ".partial")));
}

TEST_F(Run_, CountsAnewFromAnothersCheckpoint) {
  write_text(folder_ / "theirs" / "weights", "x");
  set("MUSTER_SOURCE_CHECKPOINT", (folder_ / "theirs").string());
  {
    Context context = init();
    EXPECT_TRUE(context.info().is_warm_start);
    EXPECT_EQ(context.info().latest_checkpoint, (folder_ / "theirs").string());
    save(context, 1, "own");
    context.close();
  }
  EXPECT_FALSE(init().info().is_warm_start) << "its own comes first";
}

TEST_F(Run_, RefusesAFolderThatIsInUseAndARunThatIsStale) {
  Context context = init();
  EXPECT_THROW(init(), Error) << "one in a process";
  EXPECT_THROW(RunFolder(run_dir(), Environment()), RunFolderInUseError);
  context.close();
  write_text(run_dir() / "runs.jsonl", "{\"run\": 5}\n");
  set("MUSTER_RUN_ID", "4");
  EXPECT_THROW(init(), StaleRunError);
}

TEST_F(Run_, IsStoppedByAFile) {
  set("MUSTER_STOP_FILE", (folder_ / "stop").string());
  Context context = init();
  EXPECT_FALSE(context.preempt().should_preempt());
  write_text(folder_ / "stop", "");
  EXPECT_TRUE(context.preempt().should_preempt());
  EXPECT_EQ(context.preempt().reason(), "stop file " + (folder_ / "stop").string());
  std::filesystem::remove(folder_ / "stop");
  EXPECT_TRUE(context.preempt().should_preempt()) << "for ever";
  EXPECT_EQ(read_document(run_dir() / "status.json")["stop_acknowledged"],
            Value(context.preempt().reason()));
}

TEST_F(Run_, IsStoppedBySignalAndDeadline) {
  set("MUSTER_STOP_SIGNAL", "SIGUSR1");
  {
    Context context = init();
    EXPECT_FALSE(context.preempt().should_preempt());
    ::raise(SIGUSR1);
    EXPECT_TRUE(context.preempt().should_preempt(false));
    EXPECT_EQ(read_document(run_dir() / "status.json").find("stop_acknowledged"), nullptr);
    context.close();
  }
  struct sigaction handler {};
  ::sigaction(SIGUSR1, nullptr, &handler);
  EXPECT_EQ(handler.sa_handler, SIG_DFL) << "it is given back";
  set("MUSTER_DEADLINE", "1000");
  EXPECT_TRUE(init().preempt().should_preempt());
}

TEST_F(Run_, KeepsStatusAndMetadata) {
  set("MUSTER_MAX_LENGTH", R"({"epochs": 4})");
  Context context = init();
  context.train().set_metadata(Value::Map{{"a", Value::List{1, "x"}}});
  EXPECT_EQ(context.train().get_metadata()["a"], Value(Value::List{1, "x"}));
  Operation operation = context.searcher().operation();
  EXPECT_EQ(operation.unit(), "epochs");
  operation.report_progress(1);
  operation.report_progress(2);
  operation.report_completed(0.5);
  EXPECT_THROW(operation.report_completed(0.5), Error);
  context.train().set_status("done");
  context.close();
  const Value status = read_document(run_dir() / "status.json");
  EXPECT_EQ(status["progress"].as_double(), 0.5);
  EXPECT_EQ(status["searcher"], Value(Value::Map{{"length", 4.0}, {"metric", 0.5}}));
  EXPECT_EQ(status["status"], Value("done"));
}

TEST_F(Run_, LetsOnlyRank0Speak) {
  std::string uuid;
  {
    Context chief = init();
    uuid = save(chief, 3, "x");
    chief.close();
  }
  set("RANK", "1");
  set("WORLD_SIZE", "2");
  Options options;
  Context context = init(options);
  EXPECT_EQ(context.distributed().rank, 1);
  EXPECT_EQ(context.info().latest_checkpoint, uuid);
  EXPECT_EQ(text_of(context.checkpoint().restore_path(uuid) / "deep" / "state"), "x");
  EXPECT_THROW(context.train().report_training_metrics(1, {{"a", 1}}), NotChiefError);
  EXPECT_THROW(save(context, 1, "x"), NotChiefError);
  EXPECT_THROW(context.preempt().should_preempt(), NotChiefError);
}

TEST_F(Run_, SaysWhatAFullOrClosedDiskDid) {
  write_text(folder_ / "file", "");
  set("MUSTER_RUN_DIR", (folder_ / "file" / "run").string());
  try {
    init();
    FAIL();
  } catch (const StorageError& error) {
    EXPECT_NE(std::string(error.what()).find("make room there or choose another folder"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Run_, SeesAtTheBeginningThatCheckpointsHaveNoPlace) {
  write_text(folder_ / "file", "");
  set("MUSTER_CHECKPOINT_STORAGE", R"({"type": "directory", "container_path": ")" +
                                       (folder_ / "file" / "deep").string() + "\"}");
  try {
    init();
    FAIL();
  } catch (const StorageError& error) {
    EXPECT_EQ(error.what(), "checkpoints are to go to " + (folder_ / "file" / "deep").string() +
                                ", but " + (folder_ / "file").string() +
                                " is no folder; give another one");
  }
  set("MUSTER_CHECKPOINT_STORAGE", (folder_ / "new" / "deep").string());
  Context context = init();
  const std::string uuid = save(context, 1, "x");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "new" / "deep" / uuid / "metadata.json"));
}

TEST(Files, CutOffATornLineAndRefuseAWrongOne) {
  const Path folder = std::filesystem::temp_directory_path() / ("files-" + new_uuid());
  write_text(folder / "log", "{\"a\":1}\n{\"a\":");
  EXPECT_EQ(read_lines(folder / "log").size(), 1U);
  AppendLog(folder / "log").append({Value::Map{{"a", 2}}});
  EXPECT_EQ(text_of(folder / "log"), "{\"a\":1}\n{\"a\":2}\n");
  write_text(folder / "log", "no\n{}\n");
  EXPECT_THROW(read_lines(folder / "log"), CorruptionError);
  AppendLog log(folder / "other");
  std::ofstream(folder / "other", std::ios::app) << "x";
  EXPECT_THROW(log.append({Value::Map{}}), StorageError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::core
