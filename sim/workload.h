// Clients: what they ask, how they ask again when nobody answers, and what they remember of the
// answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/command.h"
#include "gateway/prepare.h"
#include "model/request.h"
#include "search/custom_search.h"
#include "sim/options.h"
#include "state/cluster_state.h"

namespace muster::sim {

struct World;

class Workload {
 public:
  struct ClientJob {
    std::uint32_t array_size = 0;
    JobKind kind = JobKind::kBatch;
    bool is_busy = false;  ///< somebody is doing something to it
    bool is_cancelled = false;
    std::uint32_t steps_asked = 0;
  };
  using Jobs = std::map<JobId, ClientJob>;

  explicit Workload(World& world) : world_(world) {}

  /// Asks for all of it, one request after the other.
  void start();
  /// True when every request was made and answered; steps may still wait for room.
  bool is_all_asked() const;
  bool is_all_answered() const { return calls_.empty(); }
  /// What a trial's script says after an epoch.
  void report(TrialId trial, std::uint32_t run, std::uint32_t epochs);
  /// Some scripts have a session: they ask whether they should stop, and say so before they do.
  /// True: this one has.
  bool stops_as_asked(TrialId trial, std::uint32_t run);
  /// No more trouble from clients either: held jobs are released, suspended ones resumed, nodes put
  /// back to service.
  void wind_down();
  void on_reply(std::uint64_t token, std::vector<Reply> replies);
  const Jobs& jobs() const { return jobs_; }
  /// The cluster's state was put back: of later jobs it knows nothing, and answers may be other
  /// ones now.
  void rewind(const Jobs& then);

  /// Jobs that a client has an answer for and that have not ended, in words; empty: none.
  std::string unfinished() const;
  std::string unanswered() const;
  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t refused() const { return refused_; }
  /// Checkpoints that were acknowledged to a script, by uuid; with how far it had
  /// trained.
  const std::map<std::string, std::uint32_t>& checkpoints() const { return checkpoints_; }

 private:
  using Done = std::function<void(const Reply&)>;
  struct Call {
    RequestId id;
    Identity identity;
    Request request;
    Done done;
    std::optional<std::vector<Reply>> first;  ///< answer, kept for repeats
    TimePoint first_time;                     ///< when it came
    bool is_patient = false;                  ///< a step that waits for room
  };
  void next();
  void call(Request request, bool is_operator, Done done);
  void send(const std::shared_ptr<Call>& call);
  void accept_answer(const std::shared_ptr<Call>& call);
  void submit();
  void submitted(JobId job, const ClientJob& client_job);
  void run_allocation(JobId job);
  void create_step(JobId job);
  void cancel_step_later(const StepId& step);
  void touch_job();
  void touch_node();
  void create_experiment();
  void touch_experiment();
  void operate_searches();
  /// The client of one custom search.
  struct SearchClient {
    std::uint64_t answered = 0;  ///< the last event
    std::uint32_t created = 0;   ///< trials
    std::uint32_t closed = 0;
    bool is_busy = false;  ///< its answer is under way
    std::vector<SearchOperation> decide(const search::CustomEvent& event, Rng& rng);
  };
  void operate_search(const Experiment& experiment, SearchClient& client);
  void delete_some(const Trial& trial);
  void give_second_lives(const ClusterState& state);
  bool has_session(TrialId trial) const;
  void save(TrialId trial, std::uint32_t run, std::uint32_t epochs);
  JobSpec draw_spec(ClientJob& client_job);
  std::shared_ptr<StepSpec> draw_step(std::uint32_t tasks);
  JobId any_job();

  World& world_;
  LastBlob environments_;
  std::uint32_t asked_ = 0;
  std::uint64_t next_token_ = 1;
  std::uint64_t submitted_ = 0;
  std::uint64_t refused_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Call>> calls_;  ///< unanswered, by number of the call
  std::map<std::uint64_t, std::weak_ptr<Call>> tokens_;   ///< of each time that it was sent
  Jobs jobs_;
  std::map<ExperimentId, SearchClient> clients_;  ///< of custom searches
  std::set<ExperimentId> lived_;                  ///< have had the chance of a second life
  std::map<std::string, std::uint32_t> checkpoints_;
  std::set<std::pair<TrialId, std::uint32_t>> acknowledged_;  ///< runs whose word was acknowledged
};

}  // namespace muster::sim
