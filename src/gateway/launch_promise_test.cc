// A launch is a promise: whatever the door, the size and the fault, what was sent is refused there,
// or within the cluster's time there is a process, or an end with its cause; and a fault of the
// node is not the job's. Drawn; a failure names the seed of its case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "controller/testing.h"
#include "gateway/prepare.h"
#include "platform/config/prepare_experiment.h"
#include "platform/search/search_role.h"
#include "text/launch_size.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kRoot;
using testing::Rig;
using testing::spec_of;

const CallerNames kNames{"alice", "staff"};
constexpr std::uint64_t kCases = 120;

/// What users send code by.
enum class Door : std::uint8_t { kBatch, kArray, kRun, kStep, kExperiment, kCount };
/// What becomes of the launch.
enum class Fault : std::uint8_t {
  kNone,
  kSilence,  ///< the agent lives and says nothing of it
  kRefusal,  ///< the agent does not take the message
  kOfTheJob,
  kOfTheNode,
  kLostNode,
  kUnread,   ///< a new controller cannot read its bytes from the disk
  kDamaged,  ///< they are others than were written
  kCount
};

struct Case {
  explicit Case(std::uint64_t seed) : rng(seed) {
    door = static_cast<Door>(rng.below(static_cast<std::uint64_t>(Door::kCount)));
    fault = static_cast<Fault>(rng.below(static_cast<std::uint64_t>(Fault::kCount)));
    script = draw_size(200'000'000);
    environment = draw_size(rng.chance(0.1) ? 200'000'000 : kEnvironmentBytesMax);
    is_restarted = rng.chance(0.5);
  }
  /// As often between 1 and 10 bytes as between 10 and 100.
  std::size_t draw_size(std::size_t most) {
    return static_cast<std::size_t>(std::exp(rng.unit() * std::log(static_cast<double>(most))));
  }
  bool is_read_again() const { return fault == Fault::kUnread || fault == Fault::kDamaged; }
  bool is_nodes_fault() const {
    return fault == Fault::kSilence || fault == Fault::kRefusal || fault == Fault::kOfTheNode ||
           fault == Fault::kLostNode;
  }
  bool is_jobs_fault() const { return fault != Fault::kNone && !is_nodes_fault(); }
  bool has_client() const { return door == Door::kRun || door == Door::kStep; }

  Rng rng;
  Door door{};
  Fault fault{};
  std::size_t script = 0;
  std::size_t environment = 0;
  bool is_restarted = false;  ///< the controller is killed once the job has begun
};

Bytes script_of(std::size_t size) {
  return std::make_shared<const std::string>("#" + std::string(size - 1, 'x'));
}

/// Variables, each short enough for the kernel.
Bytes environment_of(std::size_t size) {
  std::string text;
  text.reserve(size);
  while (text.size() < size) {
    text.append("V=").append(std::min<std::size_t>(998, size - text.size()), 'x');
    text += '\0';
  }
  return std::make_shared<const std::string>(std::move(text));
}

/// A cluster of two nodes with its search, in which one case happens.
class Scene {
 public:
  explicit Scene(const Case& drawn) : drawn_(drawn) { begin({}); }

  /// The step that was begun; nullopt: the door refused it, with the cause and the way out.
  std::optional<StepId> enter() {
    auto prepared = prepared_request();
    if (!prepared.has_value()) {
      EXPECT_EQ(prepared.error().code, ErrorCode::kInvalidArgument);
      EXPECT_FALSE(prepared.error().detail.empty()) << prepared.error().message;
      return std::nullopt;
    }
    const Reply reply = rig_->done(std::move(prepared).value());
    EXPECT_FALSE(reply.error.has_value()) << (reply.error ? reply.error->text() : "");
    run_until_idle();
    rig_->core.state().jobs().for_each([this](const Job& one) {
      if (one.run != nullptr && !one.run->steps.empty()) step_ = one.run->steps.back().id;
    });
    EXPECT_TRUE(step_.has_value()) << "nothing was begun";
    return step_;
  }

  void happen() {
    if (drawn_.is_restarted || drawn_.is_read_again()) begin(rig_->stored());
    answer_disk();
    answer_launches();
    ASSERT_FALSE(drawn_.is_read_again() ? rig_->fetched.empty()
                                        : rig_->count_sent<LaunchStep>(0) == 0);
  }

  /// As long as a launch has, with its client there; a trial that fails is begun again until its
  /// restarts are used up.
  void wait() {
    const auto seconds =
        static_cast<int>(rig_->core.state().settings().launch_timeout.seconds()) + 3;
    const bool is_failing_trial = drawn_.door == Door::kExperiment && drawn_.is_jobs_fault();
    for (int i = 0; i < (is_failing_trial ? 1000 : seconds); ++i) {
      rig_->live(Duration::seconds(1));
      if (drawn_.has_client()) rig_->done(RenewLease{step_->job});
      run_until_idle();
      answer_disk();
      answer_launches();
    }
  }

  void check() {
    const bool is_there = step() != nullptr && step()->is_running();
    EXPECT_EQ(is_there, drawn_.fault == Fault::kNone) << "a process, or an end";
    EXPECT_EQ(is_a_node_out(), drawn_.is_nodes_fault());
    if (!is_there) check_end();
  }

 private:
  void begin(std::vector<EventBatchRef> stored) {
    rig_ = std::make_unique<Rig>(2, std::move(stored));
    fetches_ = heard_ = 0;
    search_ = SearchRole();
    search_.load(rig_->core.state());
    seen_ = rig_->published.size();
    rig_->connect_all();
    run_until_idle();
  }
  /// The search decides and the planner plans until nothing moves.
  void run_until_idle() {
    bool has_moved = true;
    for (int i = 0; has_moved && i < 100; ++i) {
      const std::size_t before = rig_->journal.size();
      for (; seen_ < rig_->published.size(); ++seen_) search_.apply(*rig_->published[seen_]);
      for (const SearchDecision& decision : search_.decide(rig_->now)) rig_->done(decision, kRoot);
      rig_->plan();
      has_moved = rig_->journal.size() != before || seen_ != rig_->published.size();
    }
  }

  Result<PreparedRequest> prepared_request() {
    LastBlob environments;
    if (drawn_.door == Door::kExperiment) {
      CreateExperiment create;
      create.config =
          "entrypoint: train\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n";
      create.job = spec_of();
      create.context = script_of(drawn_.script);
      create.environment = environment_of(drawn_.environment);
      return PreparedRequest(TRY(prepare_experiment(create, kAlice, kNames, environments)));
    }
    return prepare(request(), kAlice, kNames, settings(), environments);
  }
  Request request() {
    if (drawn_.door == Door::kStep) {
      CreateStep create{rig_->allocate(), std::make_shared<StepSpec>(),
                        environment_of(drawn_.environment)};
      return create;
    }
    SubmitJob submit;
    auto spec = spec_of();
    if (drawn_.door == Door::kArray) spec->text.set(JobText::kArray, "3");
    if (drawn_.door == Door::kRun) {
      spec->kind = JobKind::kRun;
      submit.first_step = std::make_shared<StepSpec>();
    } else {
      submit.script = script_of(drawn_.script);
    }
    submit.environment = environment_of(drawn_.environment);
    submit.spec = std::move(spec);
    return submit;
  }
  static ClusterSettings settings() {
    ClusterSettings settings;
    settings.max_script_size = kCodeBytesMax;  // as much as the configuration allows
    return settings;
  }

  /// The journal's thread says what it reads.
  void answer_disk() {
    for (; fetches_ < rig_->fetched.size(); ++fetches_) {
      const BlobId id = rig_->fetched[fetches_];
      if (drawn_.fault == Fault::kUnread) {
        rig_->core.on_blob(id, fail(ErrorCode::kUnavailable, "disk I/O error"));
      } else if (drawn_.fault == Fault::kDamaged) {
        rig_->core.on_blob(id, fail(ErrorCode::kCorruption, "blob 1 is damaged"));
      } else {
        rig_->core.on_blob(id, bytes_of(id));
      }
      rig_->core.end_turn(rig_->now);
      rig_->flush();
    }
  }
  Bytes bytes_of(BlobId id) const {
    for (const EventBatchRef& batch : rig_->journal) {
      for (const BlobWrite& blob : batch->blobs) {
        if (blob.id == id) return blob.bytes;
      }
    }
    return nullptr;
  }
  void answer_launches() {
    for (; heard_ < rig_->sent.size(); ++heard_) {
      const auto [node, message] = rig_->sent[heard_];
      if (const auto* launch = get_if<LaunchStep>(&message)) answer(node, *launch);
    }
  }
  void answer(NodeIndex node, const LaunchStep& launch) {
    const bool is_taken = drawn_.fault != Fault::kRefusal && drawn_.fault != Fault::kLostNode;
    if (is_taken) rig_->core.on_received(node, launch.id, rig_->now);
    if (drawn_.fault == Fault::kNone) rig_->hear(node.value(), StepRunning{launch.id});
    if (drawn_.fault == Fault::kRefusal) rig_->core.on_refused(node, launch, "no memory");
    if (drawn_.fault == Fault::kLostNode && launch.id == *step_) rig_->core.on_agent_lost(node);
    if (drawn_.fault == Fault::kOfTheJob || drawn_.fault == Fault::kOfTheNode) {
      StepDone end;
      end.id = launch.id;
      end.tasks = {ExitStatus::exited(1)};
      end.is_node_fault = drawn_.fault == Fault::kOfTheNode;
      end.error =
          end.is_node_fault ? "cannot make the cgroup" : "the output is a FIFO that nobody reads";
      rig_->hear(node.value(), end);
      rig_->hear(node.value(), JobClean{launch.id.job, launch.id.attempt});
    }
  }

  const Job* job() const { return rig_->core.state().jobs().find(step_->job); }
  const StepState* step() const {
    const bool is_its_run =
        job() != nullptr && job()->run != nullptr && job()->attempt == step_->attempt;
    return is_its_run ? job()->run->find_step(step_->step) : nullptr;
  }
  /// Not heard any more, or drained with the reason.
  bool is_a_node_out() const {
    return std::ranges::any_of(rig_->core.state().nodes().all(), [](const Node& node) {
      const NodeStatus& status = node.status;
      const bool is_drained = (status.conditions & node_condition::kDrain) != 0;
      return (is_drained && !status.reason.empty()) ||
             (status.conditions & node_condition::kNotResponding) != 0;
    });
  }
  std::string cause_in_history() const {
    for (const HistoryRecord& record : rig_->history) {
      if (const auto* view = std::get_if<StepView>(&record.object);
          view != nullptr && view->id == *step_)
        return view->detail;
    }
    return "";
  }
  void check_end() {
    if (drawn_.door == Door::kExperiment && drawn_.is_jobs_fault()) {
      const Trial& trial = *rig_->core.state().experiments().find(TrialId(1));
      EXPECT_TRUE(trial.state == TrialState::kError && !trial.detail.empty()) << trial.detail;
      return;
    }
    const Job* one = job();
    ASSERT_NE(one, nullptr);
    const bool goes_back = drawn_.is_nodes_fault() && !drawn_.has_client();
    if (goes_back) {
      EXPECT_TRUE(one->is_pending() || one->run != nullptr) << "it was not the job's fault";
      EXPECT_GE(one->attempt, 1U);
      EXPECT_FALSE(one->is_held());
      return;
    }
    if (drawn_.door == Door::kStep && !is_finished(one->state)) {
      EXPECT_FALSE(cause_in_history().empty());
      return;
    }
    EXPECT_TRUE(is_finished(one->state));
    EXPECT_TRUE(one->state == JobState::kNodeFail ||
                (one->detail != nullptr && !one->detail->empty()))
        << "nothing says why";
  }

  const Case& drawn_;
  std::unique_ptr<Rig> rig_;
  SearchRole search_;
  std::size_t seen_ = 0;     ///< of what was published, by the search
  std::size_t fetches_ = 0;  ///< that were answered
  std::size_t heard_ = 0;    ///< of what was sent, by the nodes
  std::optional<StepId> step_;
};

TEST(LaunchPromise, HasAProcessOrAnEndWithItsCauseWhateverTheDoorTheSizeAndTheFault) {
  std::uint64_t launched = 0;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case drawn(seed);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ": door " << static_cast<int>(drawn.door) << ", fault "
                 << static_cast<int>(drawn.fault) << ", script of " << drawn.script
                 << ", environment of " << drawn.environment << " bytes"
                 << (drawn.is_restarted ? ", controller killed" : ""));
    Scene scene(drawn);
    if (!scene.enter()) continue;
    ++launched;
    scene.happen();
    scene.wait();
    scene.check();
    if (HasFailure()) return;
  }
  EXPECT_GT(launched, kCases / 2) << "of those that are drawn, most are small enough";
}

}  // namespace
}  // namespace muster
