// The controller's HTTP with a cluster behind it, whose nodes do as they are told, and the one who
// asks it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/http_site.h"
#include "tests/controller_scenario/fake_node.h"
#include "tests/http_scenario/answer.h"
#include "tests/http_scenario/text.h"

namespace muster::http_scenario {

/// A request as it is written down; names in `headers` in any case.
struct Asked {
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

class World {
 public:
  World();
  ~World();

  // Whoever asks.
  void set_caller(std::string token) { caller_ = std::move(token); }
  void set_door(api::Door door) { door_ = door; }
  /// Nullopt: it is not answered yet, and waits (see answer_waited_for).
  std::optional<Result<Answer>> ask(const Asked& asked);
  std::optional<Result<Answer>> ask_bytes(std::string_view bytes, bool has_body);
  /// Of the last request that waits. Errors: none does; it is not answered.
  Result<Answer> answer_waited_for();

  // What happens meanwhile.
  void advance(Duration span);
  /// The step of a job ends on every node that runs it, as the report says. False: none does.
  bool end(JobId job, const StepDone& how);
  /// A task of a trial's run writes a line.
  Status print(TrialId trial, LogFragment line);
  Result<std::string> make_token(const std::string& user, Duration life);
  /// Whoever connects to that port of any node is answered so.
  void serve(std::uint16_t port, std::string answer) { served_[port] = std::move(answer); }
  /// What was said to services since this was asked last.
  std::string heard();
  scenario::FakeNode* node(const std::string& name);
  /// Nodes answer, searches decide and plans are made until nothing moves.
  void run_until_quiet();

  const ClusterState& state() { return site_.cluster().state(); }
  /// Whatever the journal holds leads to the state that there is: ends the program otherwise.
  void check() { site_.cluster().expect_replay(); }
  api::ApiPort::ServerSettings& settings() { return site_.settings(); }

 private:
  void deliver();
  void hear(NodeIndex node, const std::vector<FromAgent>& messages);
  kj::Own<kj::AsyncIoStream> connect(std::uint16_t port);

  fuzz::HttpSite site_{true};
  std::vector<scenario::FakeNode> nodes_;
  std::string caller_;
  api::Door door_ = api::Door::kApi;
  std::unique_ptr<fuzz::HttpSite::Call> waiting_;
  bool has_waiting_body_ = true;
  std::map<std::uint16_t, std::string> served_;
  std::map<LogStreamId, std::uint64_t> written_;  ///< bytes of each stream
  struct Visit;
  std::vector<std::unique_ptr<Visit>> visits_;
};

}  // namespace muster::http_scenario
