// TensorBoards: jobs of the asking user's that show the event files of trials.
// What one shows stands in its job, so that no table of them is kept: a list is a walk over jobs,
// and a name is a job's number with the cluster's.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "api/determined/names.h"
#include "api/determined/plain_job.h"
#include "api/determined/submissions.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "api/services/services.h"
#include "slurm/environment_text.h"
#include "text/words.h"
#include "trials/service_script.h"

namespace muster::api {
namespace {

// Determined's default, tensorboard_timeout.
constexpr Duration kIdle = Duration::minutes(5);
constexpr std::size_t kRunsMax = 1000;
constexpr std::size_t kDescriptionMax = 200;

/// What a request asks to see.
struct Wish {
  std::vector<std::uint32_t> experiments;
  std::vector<std::uint32_t> trials;
  Duration idle = kIdle;
  std::string description;
  std::string partition;               ///< empty: the first experiment's
  std::vector<std::string> variables;  ///< over the environment
  std::optional<std::vector<std::string>>
      environment;  ///< the caller's own, instead of the first experiment's
};

/// "90", "90s", "5m", "1h": Go's way, as far as people use it.
Result<Duration> idle_of(const Json& value) {
  std::string text = value.text() != nullptr    ? *value.text()
                     : value.whole() != nullptr ? std::to_string(*value.whole())
                                                : "";
  std::int64_t unit = 1;
  if (text.ends_with('m')) unit = 60;
  if (text.ends_with('h')) unit = 3600;
  // Only one letter is taken off: "10ms" is no number of seconds.
  if (text.ends_with('s') || unit > 1) text.pop_back();
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!is_number || count < 1 || count > 1'000'000)
    return fail(wrong("idle_timeout: give seconds, or a time such as 90s, 5m, 1h"));
  return Duration::seconds(count * unit);
}

Status read_environment(Wish& wish, const Json& section) {
  for (const Json::Member& member : *section.object()) {
    const bool is_list = member.value.array() != nullptr;
    // A variable that is ignored would make a TensorBoard that is not what was asked for.
    if (member.name != "environment_variables" || !is_list)
      return fail(wrong(
          fmt::format("config.environment.{} is not honoured for TensorBoards", member.name)));
    TRY(check_text_lists(section, {"environment_variables"}));
    wish.variables =
        texts_field(section, "environment_variables").value_or(std::vector<std::string>());
  }
  return {};
}

Status read_resources(Wish& wish, const Json& section) {
  for (const Json::Member& member : *section.object()) {
    // No slots is what a TensorBoard has anyway.
    const bool is_none = member.name == "slots" && member.value == Json(0);
    if (member.name == "resource_pool" && member.value.text() != nullptr)
      wish.partition = *member.value.text();
    else if (!is_none)
      return fail(wrong(
          fmt::format("config.resources.{} is not honoured for TensorBoards, which have one CPU",
                      member.name)));
  }
  return {};
}

Status read_config(Wish& wish, const Json& config) {
  if (config.object() == nullptr) return fail(wrong("config: an object"));
  for (const Json::Member& member : *config.object()) {
    // null is absent, as protobuf's JSON writes it.
    if (member.value.is_null()) continue;
    if (member.name == "idle_timeout")
      wish.idle = TRY(idle_of(member.value));
    else if (member.name == "description" && member.value.text() != nullptr)
      wish.description = *member.value.text();
    else if (member.name == "environment" && member.value.object() != nullptr)
      TRY(read_environment(wish, member.value));
    else if (member.name == "resources" && member.value.object() != nullptr)
      TRY(read_resources(wish, member.value));
    else
      return fail(wrong(fmt::format("config.{} is not honoured for TensorBoards", member.name)));
  }
  return {};
}

Result<Wish> wish_of(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  // Each of these would change which files are shown.
  TRY(refuse_fields(body, {"filters", "files", "templateName"}, "name experiments or trials"));
  TRY(check_no_workspace(body, "TensorBoards"));
  TRY(check_text_lists(body, {"environment"}));
  Wish wish;
  wish.experiments = TRY(ids_field(body, "experimentIds"));
  wish.trials = TRY(ids_field(body, "trialIds"));
  if (wish.experiments.empty() && wish.trials.empty())
    return fail(wrong("experimentIds, trialIds: of which experiments or trials?"));
  if (wish.experiments.size() + wish.trials.size() > kRunsMax)
    return fail(wrong(fmt::format("more than {} experiments and trials", kRunsMax)));
  if (const Json* config = field(body, "config")) TRY(read_config(wish, *config));
  wish.environment = texts_field(body, "environment");
  return wish;
}

/// What the state says to it.
struct Sources {
  std::vector<TensorboardRun> runs;
  JobSpecRef like;     ///< the first experiment's job
  BlobId environment;  ///< of it, when it is the caller's own; 0: none
};

Result<TensorboardRun*> run_of(Sources& sources, const ClusterState& state, ExperimentId id) {
  // One by one: kRunsMax bounds the list.
  for (TensorboardRun& run : sources.runs) {
    if (run.experiment == id) return &run;
  }
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()),
                "see muster experiment list");
  sources.runs.push_back({id, experiment->labels.name, experiment->spec, {}});
  // Valid until the next call, which may move the list.
  return &sources.runs.back();
}

Result<Sources> sources_of(const ClusterState& state, const Wish& wish, UserId user) {
  Sources sources;
  std::set<ExperimentId> whole;
  for (const std::uint32_t id : wish.experiments) {
    TRY(run_of(sources, state, ExperimentId(id)));
    whole.insert(ExperimentId(id));
  }
  for (const std::uint32_t id : wish.trials) {
    const Trial* trial = state.experiments().find(TrialId(id));
    if (trial == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id),
                  "see muster experiment describe");
    TensorboardRun* run = TRY(run_of(sources, state, trial->experiment));
    // A trial of an experiment that is shown whole is shown already.
    if (!whole.contains(trial->experiment)) run->trials.push_back(TrialId(id));
  }
  const ExperimentSpec& first = *sources.runs.front().spec;
  // Its partition and limits are a fair guess for who asks for nothing else.
  sources.like = first.job;
  // Another owner's environment is not the caller's to run with.
  if (first.user == user) sources.environment = first.job->environment;
  return sources;
}

std::string list_text(std::string_view one, const std::vector<std::uint32_t>& ids) {
  std::vector<std::string> texts;
  for (const std::uint32_t id : ids) texts.push_back(std::to_string(id));
  return ids.empty()
             ? ""
             : fmt::format("{}{} {}", one, ids.size() > 1 ? "s" : "", fmt::join(texts, ", "));
}

std::string description_of(const Wish& wish) {
  // Cut where it is stored: lists of hundreds of trials fit no table.
  if (!wish.description.empty()) return wish.description.substr(0, kDescriptionMax);
  // "and" where both kinds are named.
  const std::string both = wish.experiments.empty() || wish.trials.empty() ? "" : " and ";
  std::string text = "TensorBoard of " + list_text("experiment", wish.experiments) + both +
                     list_text("trial", wish.trials);
  if (text.size() > kDescriptionMax) text.replace(kDescriptionMax - 3, text.npos, "...");
  return text;
}

/// What is shown of it later stands in the job: its words, separated by NUL.
std::string words_of(const Wish& wish) {
  std::string words = fmt::format("idle={}", wish.idle.seconds());
  for (const std::uint32_t id : wish.experiments)
    words.append(1, '\0').append(fmt::format("experiment={}", id));
  for (const std::uint32_t id : wish.trials)
    words.append(1, '\0').append(fmt::format("trial={}", id));
  return words;
}

Result<SubmitJob> submission_of(const Wish& wish, const Sources& sources, const UserAccount& user,
                                std::string environment, std::string_view cluster) {
  auto job = service_job(*sources.like, ServiceKind::kTensorboard);
  // In the caller's home: the experiment's folder may be somebody else's.
  job->text.set(JobText::kWorkDir, user.home);
  job->text.set(JobText::kComment, description_of(wish));
  job->text.set(JobText::kScriptArgs, words_of(wish));
  if (!wish.partition.empty()) job->text.set(JobText::kPartition, wish.partition);
  // What the request says lies over the environment.
  Environment variables = parse_environment(environment);
  TRY(set_variables(variables, wish.variables));
  SubmitJob submit;
  submit.spec = std::move(job);
  submit.script = std::make_shared<const std::string>(service_script());
  submit.environment = std::make_shared<const std::string>(with_service(
      environment_block(variables), tensorboard_wish(sources.runs, wish.idle, cluster)));
  return submit;
}

// ---- shown ----

std::vector<std::uint32_t> ids_in(const JobSpec& spec, std::string_view name) {
  std::vector<std::uint32_t> ids;
  for (const std::string_view word : split(spec.get(JobText::kScriptArgs), '\0')) {
    std::uint32_t id = 0;
    if (!word.starts_with(name) || !word.substr(name.size()).starts_with('=')) continue;
    const std::string_view digits = word.substr(name.size() + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), id).ec == std::errc())
      ids.push_back(id);
  }
  return ids;
}

Json numbers(const std::vector<std::uint32_t>& values) {
  Json::Array out;
  for (const std::uint32_t value : values) out.emplace_back(value);
  return out;
}

// A job that has ended is terminated, one that ends is terminating; ready is what serves.
std::string state_of(const ServiceJob& service, const ServiceBook& book) {
  if (service.is_over) return "STATE_TERMINATED";
  if (is_finished(service.state)) return "STATE_TERMINATING";
  if (service.state == JobState::kPending) return "STATE_QUEUED";
  return is_ready(service, book) ? "STATE_RUNNING" : "STATE_STARTING";
}

/// Why it cannot be looked at now; nullopt: it can.
std::optional<Error> trouble_of(const ServiceJob& service, const ServiceBook& book) {
  const auto address = address_of(service, book);
  return address.has_value() ? std::nullopt : std::optional(address.error());
}

std::string detail_of(const ServiceJob& service, const ServiceBook& book) {
  const std::optional<Error> trouble = trouble_of(service, book);
  return trouble ? trouble->text() : "";
}

Json tensorboard_json(const ServiceJob& service, const ServiceBook& book) {
  // The user who owns it, not who asks.
  const std::string user(service.spec->get(JobText::kUserName));
  const std::optional<Error> trouble = trouble_of(service, book);
  const std::string detail = trouble ? trouble->text() : "";
  return Json::Object{{"id", service.name},
                      {"description", std::string(service.spec->get(JobText::kComment))},
                      {"state", state_of(service, book)},
                      {"startTime", time_json(service.submit_time)},
                      {"displayName", user},
                      {"username", user},
                      {"userId", user_number(service.spec->user)},
                      {"serviceAddress", proxy_path(service.name) + "/"},
                      {"resourcePool", service.partition},
                      {"exitStatus", service.is_over ? detail : ""},
                      {"jobId", std::to_string(service.job.value())},
                      {"workspaceId", kFirstWorkspaceId},
                      {"experimentIds", numbers(ids_in(*service.spec, "experiment"))},
                      {"trialIds", numbers(ids_in(*service.spec, "trial"))},
                      {"detail", detail},
                      {"cannotServe", trouble && trouble->cause == ErrorCause::kCannotServe}};
}

Json config_json(const ServiceJob& service) {
  // The seconds are among the job's words, as the ids are.
  const auto idle = ids_in(*service.spec, "idle");
  return Json::Object{
      {"description", std::string(service.spec->get(JobText::kComment))},
      {"idle_timeout", fmt::format("{}s", idle.empty() ? 0 : idle.front())},
      {"resources", Json::Object{{"slots", 0}, {"resource_pool", service.partition}}}};
}

bool is_tensorboard(const JobSpec& spec) { return service_kind(spec) == ServiceKind::kTensorboard; }

// A name that is another cluster's finds nothing.
Result<ServiceJob> find_tensorboard(const ClusterState& state, std::string_view cluster,
                                    std::string_view name) {
  const auto run = parse_service_name(cluster, name);
  const Job* job = run ? state.jobs().find(run->job) : nullptr;
  if (job == nullptr || !is_tensorboard(*job->spec))
    return fail(ErrorCode::kNotFound, fmt::format("there is no TensorBoard {}", name),
                "see muster tensorboard list");
  return service_of(state, cluster, *job);
}

kj::Promise<Result<ServiceJob>> tensorboard_named(ApiPort& port, const Caller& caller,
                                                  std::string name) {
  return look<ServiceJob>(
      port, caller,
      [cluster = port.settings().cluster_id, name = std::move(name)](const ClusterState& state) {
        return find_tensorboard(state, cluster, name);
      });
}

kj::Promise<HttpReply> show_one(ApiPort& port, const Caller& caller, std::string name,
                                bool has_warnings) {
  return tensorboard_named(port, caller, std::move(name))
      .then([&port, has_warnings](Result<ServiceJob> service) -> HttpReply {
        if (!service.has_value()) return error_reply(service.error());
        Json body = Json::Object{{"tensorboard", tensorboard_json(*service, port.services())},
                                 {"config", config_json(*service)}};
        if (has_warnings) body.member("warnings") = Json::Array{};
        return json_reply(body);
      });
}

// ---- handlers ----

kj::Promise<HttpReply> submit(ApiPort& port, const Caller& caller, SubmitJob job) {
  std::vector<Request> requests;
  requests.emplace_back(std::move(job));
  return port.submit(caller, std::move(requests))
      .then([&port, caller](std::vector<Reply> replies) -> kj::Promise<HttpReply> {
        if (const auto error = error_of(replies)) return error_reply(*error);
        return show_one(port, caller, service_name(port.settings().cluster_id, replies.front().job),
                        true);
      });
}

/// The caller's own environment, his experiment's, or a plain one.
kj::Promise<Result<std::string>> environment_for(ApiPort& port, const Wish& wish,
                                                 const Sources& sources, const UserAccount& user,
                                                 const std::string& name) {
  if (wish.environment) return Result<std::string>(environment_block(*wish.environment));
  if (sources.environment.value() != 0) return port.blob(sources.environment);
  return Result<std::string>(plain_environment(user, name));
}

kj::Promise<HttpReply> launch(ApiPort& port, HttpRequest request) {
  auto wish = wish_of(request);
  if (!wish.has_value()) return error_reply(wish.error());
  struct Launch {
    Caller caller;
    Wish wish;
    Sources sources = {};
    UserAccount user = {};
  };
  auto shared = std::make_shared<Launch>(Launch{request.caller, std::move(wish).value()});
  return look<Sources>(port, request.caller,
                       [shared](const ClusterState& state) {
                         return sources_of(state, shared->wish, shared->caller.identity.user);
                       })
      .then([&port, shared](Result<Sources> sources) -> kj::Promise<HttpReply> {
        if (!sources.has_value()) return error_reply(sources.error());
        shared->sources = std::move(sources).value();
        return port
            .work([&users = port.users(), shared] {
              shared->user = users.account(shared->caller.identity.user);
            })
            .then([&port, shared] {
              return environment_for(port, shared->wish, shared->sources, shared->user,
                                     shared->caller.claims.user_name);
            })
            .then([&port, shared](Result<std::string> environment) -> kj::Promise<HttpReply> {
              if (!environment.has_value()) return error_reply(environment.error());
              auto submission =
                  submission_of(shared->wish, shared->sources, shared->user,
                                std::move(environment).value(), port.settings().cluster_id);
              if (!submission.has_value()) return error_reply(submission.error());
              return submit(port, shared->caller, std::move(submission).value());
            });
      });
}

kj::Promise<HttpReply> show(ApiPort& port, HttpRequest request) {
  return show_one(port, request.caller, request.arguments[0], false);
}

kj::Promise<HttpReply> list(ApiPort& port, HttpRequest request) {
  using All = std::vector<ServiceJob>;
  return look<All>(
             port, request.caller,
             [cluster = port.settings().cluster_id](const ClusterState& state) -> Result<All> {
               All all;
               state.jobs().for_each([&](const Job& job) {
                 if (is_tensorboard(*job.spec)) all.push_back(service_of(state, cluster, job));
               });
               return all;
             })
      .then([&port, request](Result<All> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        const auto users = request.parameters("users");
        const auto ids = request.parameters("userIds");
        // Without a filter everybody's, as in Determined.
        std::erase_if(*all, [&](const ServiceJob& one) {
          const bool is_wanted =
              (users.empty() && ids.empty()) ||
              std::ranges::find(users, one.spec->get(JobText::kUserName)) != users.end() ||
              std::ranges::find(ids, std::to_string(user_number(one.spec->user))) != ids.end();
          return !is_wanted;
        });
        const auto number = [](const ServiceJob& one) {
          return one.job;
        };  // jobs start as they are numbered, near enough
        const Status sorted = sort_list<ServiceJob>(
            request, *all,
            {sort_key<ServiceJob>("SORT_BY_ID", number),
             sort_key<ServiceJob>("SORT_BY_START_TIME",
                                  [](const ServiceJob& one) { return one.start_time; }),
             sort_key<ServiceJob>("SORT_BY_DESCRIPTION", [](const ServiceJob& one) {
               return one.spec->get(JobText::kComment);
             })});
        if (!sorted.has_value()) return error_reply(sorted.error());
        return list_reply(request, "tensorboards", *all, [&port](const ServiceJob& one) {
          return tensorboard_json(one, port.services());
        });
      });
}

kj::Promise<HttpReply> kill(ApiPort& port, HttpRequest request) {
  return tensorboard_named(port, request.caller, request.arguments[0])
      .then([&port, caller = request.caller,
             name = request.arguments[0]](Result<ServiceJob> service) -> kj::Promise<HttpReply> {
        if (!service.has_value()) return error_reply(service.error());
        CancelJobs cancel;
        cancel.filter.jobs.push_back({service->job, {}, false, {}});
        // Lenient: one that has ended is what was wanted.
        cancel.is_lenient = true;
        return submit_one(port, caller, std::move(cancel))
            .then([&port, caller, name](HttpReply reply) -> kj::Promise<HttpReply> {
              if (reply.status != 200) return reply;
              return show_one(port, caller, name, false);
            });
      });
}

/// What Determined's client waits by.
kj::Promise<HttpReply> show_task(ApiPort& port, HttpRequest request) {
  return tensorboard_named(port, request.caller, request.arguments[0])
      .then([&port](Result<ServiceJob> service) -> HttpReply {
        if (!service.has_value()) return error_reply(service.error());
        const std::string cluster = port.settings().cluster_id;
        Json end = service->is_over ? time_json(service->end_time) : Json();
        Json::Array allocations;
        // One that waits has no allocation yet.
        if (service->start_time.is_set()) {
          allocations.push_back(Json::Object{
              {"taskId", service->name},
              {"allocationId", service_allocation(cluster, service->job, service->run)},
              {"state", state_of(*service, port.services())},
              {"isReady", is_ready(*service, port.services())},
              {"slots", 0},
              {"startTime", time_json(service->start_time)},
              {"endTime", end},
              // Why it ended, or why it does not serve.
              {"exitReason",
               service->is_over ? Json(detail_of(*service, port.services())) : Json()}});
        }
        return json_reply(
            Json::Object{{"task", Json::Object{{"taskId", service->name},
                                               {"taskType", "TASK_TYPE_TENSORBOARD"},
                                               {"startTime", time_json(service->submit_time)},
                                               {"endTime", end},
                                               {"allocations", std::move(allocations)}}}});
      });
}

}  // namespace

void add_tensorboard_routes(Router& router) {
  router.add(Method::kPost, "/api/v1/tensorboards",
             "Show the event files of experiments or trials in a TensorBoard", launch);
  router.add(Method::kGet, "/api/v1/tensorboards", "TensorBoards", list,
             list_parameters({"sortBy", "orderBy", "users", "userIds"}));
  router.add(Method::kGet, "/api/v1/tensorboards/{tensorboard}", "One TensorBoard", show);
  router.add(Method::kPost, "/api/v1/tensorboards/{tensorboard}/kill", "End a TensorBoard", kill);
  router.add(Method::kGet, "/api/v1/tasks/{tensorboard}", "A TensorBoard as a task", show_task);
}

}  // namespace muster::api
