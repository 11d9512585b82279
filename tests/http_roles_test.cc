// Who may do what over HTTP: every route of the OpenAPI document, tried with every kind of token. A
// route without a row here fails. What all of it is about belongs to alice: experiment 1 with
// trials 1 and 2, and what a row lets be made first.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/http/openapi.h"
#include "fuzz/http_site.h"
#include "trials/determined_text.h"
#include "trials/service_text.h"

namespace muster {
namespace {

/// Who is let in. A run's token reads what its owner reads and changes what is its own alone.
enum class Access {
  kOpen,   ///< without a token
  kUser,   ///< everybody with a token
  kOwner,  ///< alice and operators
  kOperator,
  kRun,      ///< alice, operators, and the token of trial 1's run
  kRunOnly,  ///< that token alone
  kTask,     ///< any run's token, and users
};

constexpr const char* kRoles[] = {"", "bob", "alice", "operator", "root", "task-1", "task-2"};

bool is_let_in(Access access, std::string_view role, bool is_read) {
  if (access == Access::kOpen) return true;
  if (role.empty()) return false;
  const bool is_task = role.starts_with("task-");
  switch (access) {
    case Access::kUser: return !is_task || is_read;
    case Access::kOwner: return role != "bob" && (!is_task || is_read);
    case Access::kOperator: return role == "operator" || role == "root";
    case Access::kRun: return role != "bob" && role != "task-2";
    case Access::kRunOnly: return role == "task-1";
    default: return true;
  }
}

constexpr const char* kUuid = "b8f635ed-7cca-46ec-86ec-000000000001";
constexpr const char* kExperiment =
    R"({"config":"{name: s, entrypoint: t, searcher: {name: single, metric: loss}}","activate":true})";
constexpr const char* kCustom =
    R"({"config":"{name: c, entrypoint: t, searcher: {name: custom, metric: loss}}","activate":true})";

std::string task() { return task_name(fuzz::HttpSite::kClusterId, ExperimentId(1), TrialId(1)); }
std::string run() {
  return allocation_name(fuzz::HttpSite::kClusterId, ExperimentId(1), TrialId(1), 1);
}

struct Call {
  std::string who;
  std::string method;
  std::string path;
  std::string body;
};

struct Row {
  std::string route;  ///< method and pattern
  Access access;
  std::string body = "{}";
  std::vector<const char*> before = {};  ///< names of what is made first
};

/// What rows let be made: as alice, or as her trial's run.
const std::map<std::string, Call>& makings() {
  static const std::map<std::string, Call> kMakings = {
      {"model", {"alice", "POST", "/api/v1/models", R"({"name":"m"})"}},
      {"checkpoint",
       {"task-1", "POST", "/api/v1/checkpoints",
        R"({"uuid":")" + std::string(kUuid) + R"(","allocationId":")" + run() +
            R"(","state":"STATE_COMPLETED","resources":{"a":"1"},"metadata":{"steps_completed":3}})"}},
      {"version",
       {"alice", "POST", "/api/v1/models/m/versions",
        R"({"checkpointUuid":")" + std::string(kUuid) + R"("})"}},
      {"workspace", {"alice", "POST", "/api/v1/workspaces", R"({"name":"w"})"}},
      {"project", {"alice", "POST", "/api/v1/workspaces/2/projects", R"({"name":"p"})"}},
      {"template",
       {"alice", "PUT", "/api/v1/templates/t", R"({"name":"t","config":{"max_restarts":1}})"}},
      {"custom", {"alice", "POST", "/api/v1/experiments", kCustom}},
      {"tensorboard", {"alice", "POST", "/api/v1/tensorboards", R"({"experimentIds":[1]})"}},
  };
  return kMakings;
}

std::vector<Row> rows() {  // NOLINT(readability-function-size): a table
  const std::string one = R"({"experimentIds":[1]})";
  const std::string uuid = R"({"checkpointUuids":[")" + std::string(kUuid) + R"("]})";
  std::vector<Row> all = {
      {"GET /livez", Access::kOpen},
      {"GET /readyz", Access::kOpen},
      {"GET /health", Access::kOpen},
      {"GET /info", Access::kOpen},
      {"GET /openapi.json", Access::kOpen},
      {"GET /api/v1/master", Access::kOpen},
      {"GET /api/v1/agents", Access::kUser},
      {"GET /api/v1/agents/{agent}", Access::kUser},
      {"POST /api/v1/agents/{agent}/disable", Access::kOperator},
      {"POST /api/v1/agents/{agent}/enable", Access::kOperator},
      {"GET /api/v1/resource-pools", Access::kUser},
      {"GET /api/v1/tasks", Access::kUser},
      {"GET /tasks", Access::kUser},
      // Sessions and tokens: each about the caller's own.
      {"POST /api/v1/auth/logout", Access::kUser},
      {"GET /api/v1/auth/user", Access::kUser},
      {"GET /api/v1/me", Access::kUser},
      {"GET /api/v1/users", Access::kUser},
      {"GET /api/v1/users/setting", Access::kUser},
      {"GET /api/v1/users/{id}", Access::kUser},
      {"GET /api/v1/users/{name}/by-username", Access::kUser},
      {"GET /api/v1/tokens", Access::kUser},
      {"POST /api/v1/tokens/once", Access::kUser},
      {"POST /api/v1/tokens/revoke-all", Access::kOwner, R"({"username":"alice"})"},
      {"POST /api/v1/tokens/{id}/revoke", Access::kUser},
      {"PATCH /api/v1/tokens/{id}", Access::kUser, R"({"setRevoked":true})"},
      {"GET /api/v1/job-queues-v2", Access::kUser},
      {"POST /api/v1/job-queues", Access::kOwner, R"({"updates":[{"jobId":"1","priority":40}]})"},
      // What runs say.
      {"POST /api/v1/trials/{trial}/metrics", Access::kRun,
       R"({"group":"training","metrics":{"trialId":1,"trialRunId":1,"stepsCompleted":3,"metrics":{"avgMetrics":{"loss":1}}}})"},
      {"GET /api/v1/allocations/{allocation}/signals/preemption", Access::kRun},
      {"POST /api/v1/allocations/{allocation}/signals/ack_preemption", Access::kRun},
      {"POST /api/v1/webhooks/custom", Access::kTask},
      {"POST /api/v1/runs/start", Access::kRun, R"({"runId":1})"},
      {"POST /api/v1/trials/{trial}/progress", Access::kRun, R"({"progress":0.5})"},
      {"POST /api/v1/trials/{trial}/runner/metadata", Access::kRun, R"({"state":"training"})"},
      {"POST /api/v1/trials/{trial}/early_exit", Access::kRun,
       R"({"reason":"EXITED_REASON_INVALID_HP"})"},
      {"POST /api/v1/runs/{run}/metadata", Access::kRun, R"({"metadata":{"a":1}})"},
      {"GET /api/v1/runs/{run}/metadata", Access::kUser},
      {"POST /api/v1/allocations/{allocation}/proxy_address", Access::kRunOnly, R"({"port":5000})"},
      {"POST /api/v1/checkpoints", Access::kRun, makings().at("checkpoint").body},
      {"PATCH /api/v1/checkpoints",
       Access::kRun,
       R"({"checkpoints":[{"uuid":")" + std::string(kUuid) +
           R"(","resources":{"resources":{"a":"1"}}}]})",
       {"checkpoint"}},
      {"POST /api/v1/trial-source-info",
       Access::kRun,
       R"({"trialSourceInfo":{"trialId":1,"checkpointUuid":")" + std::string(kUuid) +
           R"(","trialSourceInfoType":"TRIAL_SOURCE_INFO_TYPE_INFERENCE"}})",
       {"checkpoint"}},
      // Logs, code and configuration are the owner's; figures are everybody's.
      {"GET /api/v1/trials/{trial}/logs", Access::kOwner},
      {"GET /api/v1/tasks/{task}/logs", Access::kOwner},
      {"GET /api/v1/trials/{trial}/logs/fields", Access::kUser},
      {"GET /api/v1/tasks/{task}/logs/fields", Access::kUser},
      {"PUT /api/v1/experiments/{experiment}/retain_logs", Access::kOwner, R"({"numDays":7})"},
      {"PUT /api/v1/trials/{trial}/retain_logs", Access::kOwner, R"({"numDays":7})"},
      {"PUT /api/v1/projects/{project}/experiments/retain_logs", Access::kOwner,
       R"({"experimentIds":[1],"numDays":7})"},
      {"GET /api/v1/trials/{trial}/remaining_log_retention_days", Access::kUser},
      {"GET /api/v1/trials/time-series", Access::kUser},
      {"GET /api/v1/trials/metrics/training_metrics", Access::kUser},
      {"GET /api/v1/trials/metrics/validation_metrics", Access::kUser},
      {"GET /api/v1/trials/metrics/trial_metrics", Access::kUser},
      {"GET /api/v1/trials/{trial}", Access::kUser},
      {"POST /api/v1/trials/{trial}/kill", Access::kOwner},
      {"GET /api/v1/trials/{trial}/checkpoints", Access::kUser},
      {"GET /api/v1/trials/{trial}/workloads", Access::kUser},
      {"POST /api/v1/experiments", Access::kUser, kExperiment},
      {"GET /api/v1/experiments", Access::kUser},
      {"GET /api/v1/experiments/{experiment}", Access::kUser},
      {"PATCH /api/v1/experiments/{experiment}", Access::kOwner, R"({"name":"other"})"},
      {"DELETE /api/v1/experiments/{experiment}", Access::kOwner},
      {"POST /api/v1/experiments/continue", Access::kOwner, R"({"id":1})"},
      {"GET /experiments/{experiment}/preview_gc", Access::kOwner},
      {"PUT /api/v1/experiments/{experiment}/labels/{label}", Access::kOwner},
      {"DELETE /api/v1/experiments/{experiment}/labels/{label}", Access::kOwner},
      {"GET /api/v1/experiments/{experiment}/trials", Access::kUser},
      {"GET /api/v1/experiments/{experiment}/checkpoints", Access::kUser},
      {"GET /api/v1/experiments/{experiment}/model_def", Access::kOwner},
      {"GET /api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric",
       Access::kUser},
      {"DELETE /api/v1/projects/{project}/experiments/delete", Access::kOwner, one},
      {"POST /api/v1/projects/{project}/experiments/delete", Access::kOwner, one},
      {"POST /api/v1/experiments/{experiment}/move",
       Access::kOwner,
       R"({"destinationProjectId":2})",
       {"workspace", "project"}},
      {"POST /api/v1/preview-hp-search", Access::kUser,
       R"({"config":{"name":"s","entrypoint":"t","searcher":{"name":"single","metric":"loss"}}})"},
      {"GET /api/v1/experiments/{experiment}/searcher_events", Access::kUser, "{}", {"custom"}},
      {"POST /api/v1/experiments/{experiment}/searcher_operations",
       Access::kOwner,
       R"({"searcherOperations":[{"setSearcherProgress":{"progress":0.5}}],"triggeredByEvent":{"id":1}})",
       {"custom"}},
      {"POST /api/v1/muster/import", Access::kOperator},
      // Checkpoints.
      {"GET /api/v1/checkpoints/{uuid}", Access::kUser, "{}", {"checkpoint"}},
      {"GET /api/v1/checkpoints/{uuid}/metrics", Access::kUser, "{}", {"checkpoint"}},
      {"GET /checkpoints/{uuid}", Access::kOwner, "{}", {"checkpoint"}},
      {"POST /api/v1/checkpoints/{uuid}/metadata",
       Access::kOwner,
       R"({"checkpoint":{"metadata":{"a":1}}})",
       {"checkpoint"}},
      {"POST /api/v1/checkpoints/rm",
       Access::kOwner,
       R"({"checkpointUuids":[")" + std::string(kUuid) + R"("],"checkpointGlobs":["*"]})",
       {"checkpoint"}},
      {"DELETE /api/v1/checkpoints", Access::kOwner, uuid, {"checkpoint"}},
      // Models.
      {"GET /api/v1/model/labels", Access::kUser},
      {"POST /api/v1/models", Access::kUser, R"({"name":"mine"})"},
      {"GET /api/v1/models", Access::kUser},
      {"GET /api/v1/models/{model}", Access::kUser, "{}", {"model"}},
      {"PATCH /api/v1/models/{model}", Access::kOwner, R"({"model":{"notes":"n"}})", {"model"}},
      {"DELETE /api/v1/models/{model}", Access::kOwner, "{}", {"model"}},
      {"POST /api/v1/models/{model}/archive", Access::kOwner, "{}", {"model"}},
      {"POST /api/v1/models/{model}/unarchive", Access::kOwner, "{}", {"model"}},
      {"POST /api/v1/models/{model}/versions",
       Access::kOwner,
       makings().at("version").body,
       {"model", "checkpoint"}},
      {"GET /api/v1/models/{model}/versions", Access::kUser, "{}", {"model"}},
      {"GET /api/v1/models/{model}/versions/{version}",
       Access::kUser,
       "{}",
       {"model", "checkpoint", "version"}},
      {"GET /api/v1/models/{model}/versions/{version}/metrics",
       Access::kUser,
       "{}",
       {"model", "checkpoint", "version"}},
      {"PATCH /api/v1/models/{model}/versions/{version}",
       Access::kOwner,
       R"({"modelVersion":{"comment":"c"}})",
       {"model", "checkpoint", "version"}},
      {"DELETE /api/v1/models/{model}/versions/{version}",
       Access::kOwner,
       "{}",
       {"model", "checkpoint", "version"}},
      // Places.
      {"GET /api/v1/workspaces", Access::kUser},
      {"POST /api/v1/workspaces", Access::kUser, R"({"name":"mine"})"},
      {"GET /api/v1/workspaces/{workspace}", Access::kUser, "{}", {"workspace"}},
      {"PATCH /api/v1/workspaces/{workspace}", Access::kOwner, R"({"name":"v"})", {"workspace"}},
      {"DELETE /api/v1/workspaces/{workspace}", Access::kOwner, "{}", {"workspace"}},
      {"POST /api/v1/workspaces/{workspace}/archive", Access::kOwner, "{}", {"workspace"}},
      {"POST /api/v1/workspaces/{workspace}/unarchive", Access::kOwner, "{}", {"workspace"}},
      {"GET /api/v1/workspaces/{workspace}/projects", Access::kUser, "{}", {"workspace"}},
      {"POST /api/v1/workspaces/{workspace}/projects",
       Access::kUser,
       R"({"name":"mine"})",
       {"workspace"}},
      {"GET /api/v1/projects/{project}", Access::kUser, "{}", {"workspace", "project"}},
      {"PATCH /api/v1/projects/{project}",
       Access::kOwner,
       R"({"name":"q"})",
       {"workspace", "project"}},
      {"DELETE /api/v1/projects/{project}", Access::kOwner, "{}", {"workspace", "project"}},
      {"PUT /api/v1/projects/{project}/notes",
       Access::kOwner,
       R"({"notes":[{"name":"n","contents":"c"}]})",
       {"workspace", "project"}},
      {"POST /api/v1/projects/{project}/notes",
       Access::kOwner,
       R"({"name":"n","contents":"c"})",
       {"workspace", "project"}},
      {"POST /api/v1/projects/{project}/archive", Access::kOwner, "{}", {"workspace", "project"}},
      {"POST /api/v1/projects/{project}/unarchive", Access::kOwner, "{}", {"workspace", "project"}},
      {"GET /api/v1/templates", Access::kUser},
      {"GET /api/v1/templates/{template}", Access::kUser, "{}", {"template"}},
      {"POST /api/v1/templates/{template}", Access::kUser, R"({"config":{"max_restarts":2}})"},
      {"PUT /api/v1/templates/{template}",
       Access::kOwner,
       R"({"config":{"max_restarts":2}})",
       {"template"}},
      {"PATCH /api/v1/templates/{template}", Access::kOwner, R"({"max_restarts":2})", {"template"}},
      {"DELETE /api/v1/templates/{template}", Access::kOwner, "{}", {"template"}},
      // Services.
      {"POST /api/v1/tensorboards", Access::kUser, R"({"experimentIds":[1]})"},
      {"GET /api/v1/tensorboards", Access::kUser},
      {"GET /api/v1/tensorboards/{tensorboard}", Access::kUser, "{}", {"tensorboard"}},
      {"GET /api/v1/tasks/{tensorboard}", Access::kUser, "{}", {"tensorboard"}},
      {"POST /api/v1/tensorboards/{tensorboard}/kill", Access::kOwner, "{}", {"tensorboard"}},
      {"POST /api/v1/services/{service}/ticket", Access::kOwner, "{}", {"tensorboard"}},
  };
  for (const std::string verb : {"pause", "activate", "cancel", "kill", "archive", "unarchive"}) {
    all.push_back({"POST /api/v1/experiments/{experiment}/" + verb, Access::kOwner});
    all.push_back({"POST /api/v1/projects/{project}/experiments/" + verb, Access::kOwner, one});
  }
  for (const std::string call :
       {"ready", "waiting", "notify_container_running", "acceleratorData"}) {
    all.push_back({"POST /api/v1/allocations/{allocation}/" + call, Access::kTask});
  }
  return all;
}

/// What stands in a route's braces, by name; what is not here is number 1.
std::map<std::string, std::string> places(const std::vector<const char*>& made,
                                          const std::string& service) {
  const bool is_custom = std::ranges::any_of(
      made, [](const char* name) { return std::string_view(name) == "custom"; });
  return {{"experiment", is_custom ? "2" : "1"},
          {"workspace", "2"},
          {"project", "2"},
          {"tensorboard", service},
          {"service", service},
          {"agent", "n0"},
          {"uuid", kUuid},
          {"model", "m"},
          {"template", "t"},
          {"allocation", run()},
          {"task", task()},
          {"label", "l"},
          {"name", "alice"},
          {"id", "1000"}};
}

std::string request_text(const Call& call) {
  std::string text = call.method + " " + call.path + " HTTP/1.1\r\nHost: localhost\r\n";
  if (!call.who.empty()) text += "Authorization: Bearer " + call.who + "\r\n";
  if (call.method == "GET") return text + "\r\n";
  return text +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(call.body.size()) +
         "\r\n\r\n" + call.body;
}

int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(std::string(answer.substr(9, 3)).c_str()) : 0;
}
/// Of several verbs at once the answer says which were denied.
bool is_denied(std::string_view answer) {
  const int status = status_of(answer);
  return status == 401 || status == 403 || answer.find("permission denied") != answer.npos;
}

TEST(HttpRoles, EveryRouteByEveryKindOfToken) {
  fuzz::HttpSite site;
  std::map<std::string, bool> without_row;
  for (const api::Route& route : site.router().routes())
    without_row[std::string(fuzz::name_of(route.method)) + " " + route.pattern] = true;
  // The job that a row lets be made.
  const std::string service =
      service_name(fuzz::HttpSite::kClusterId, site.cluster().state().next_job());
  // Its own tests: a password is what it is about.
  without_row.erase("POST /api/v1/auth/login");
  for (const Row& row : rows()) {
    const std::string& route = row.route;
    ASSERT_TRUE(without_row.erase(route) == 1) << route << " is not served, or has two rows";
    const std::string method = route.substr(0, route.find(' '));
    const auto values = places(row.before, service);
    for (const char* role : kRoles) {
      SCOPED_TRACE(route + " by '" + role + "'");
      std::string bytes;
      for (const char* making : row.before) bytes += request_text(makings().at(making));
      const std::string path =
          fuzz::filled(route.substr(method.size() + 1), [&](const std::string& name) {
            const auto value = values.find(name);
            return value == values.end() ? std::string("1") : value->second;
          });
      bytes += request_text({role, method, path, row.body});
      // A download waits until a node has read the files: that it is let in shows in there being no
      // answer yet.
      const bool is_long = route == "GET /checkpoints/{uuid}" && is_let_in(row.access, role, true);
      const std::string answers =
          is_long ? site.exchange_for(bytes, Duration::milliseconds(100)) : site.exchange(bytes);
      std::vector<std::string_view> parts;
      for (std::size_t at = answers.find("HTTP/1.1 "); at != answers.npos;) {
        const std::size_t next = answers.find("HTTP/1.1 ", at + 1);
        parts.push_back(std::string_view(answers).substr(at, next - at));
        at = next;
      }
      ASSERT_EQ(parts.size(), row.before.size() + (is_long ? 0 : 1)) << answers;
      for (std::size_t i = 0; i < row.before.size(); ++i)
        ASSERT_EQ(status_of(parts[i]) / 100, 2) << row.before[i] << ": " << parts[i];
      EXPECT_EQ(!is_denied(parts.back()), is_let_in(row.access, role, method == "GET"))
          << parts.back();
    }
  }
  for (const auto& [route, is_missing] : without_row) ADD_FAILURE() << route << " has no row";
}

}  // namespace
}  // namespace muster
