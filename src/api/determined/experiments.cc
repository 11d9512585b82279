// Experiments: made, looked at, paused and ended.
// Handlers of the largest resource: a configuration is merged with its layers here, checked here
// for its lines, and submitted as text; the core checks it again, as every client's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "access/experiment_access.h"
#include "api/determined/checkpoint_list.h"
#include "api/determined/code_archive.h"
#include "api/determined/experiment_json.h"
#include "api/determined/experiment_patch.h"
#include "api/determined/measured.h"
#include "api/determined/names.h"
#include "api/determined/plain_job.h"
#include "api/determined/submissions.h"
#include "api/determined/trial_json.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "platform/config/prepare_experiment.h"
#include "text/json_text.h"
#include "text/yaml_text.h"
#include "trials/config_layers.h"
#include "trials/config_secrets.h"
#include "trials/experiment_form.h"

namespace muster::api {
namespace {

Json texts_json(const std::vector<std::string>& texts) {
  Json::Array all;
  for (const std::string& text : texts) all.emplace_back(text);
  return all;
}

Result<ExperimentId> id_of(const HttpRequest& request) {
  return ExperimentId(TRY(parse_id(request.arguments[0], "an experiment")));
}

}  // namespace

kj::Promise<HttpReply> show_experiment(ApiPort& port, const Caller& caller, ExperimentId id,
                                       std::vector<std::string> warnings) {
  const auto find =
      [id, identity = caller.identity](const ClusterState& state) -> Result<ExperimentDetails> {
    // Cut down for who may not read it, before it leaves the lookup.
    ExperimentDetails details = TRY(details_of(state, id));
    details.view.spec =
        spec_shown_to(identity, details.view.spec,
                      access::readers_of(state, *state.experiments().find(id)).has(identity));
    return details;
  };
  return look<ExperimentDetails>(port, caller, find)
      .then([warnings = std::move(warnings)](Result<ExperimentDetails> details) {
        if (!details.has_value()) return error_reply(details.error());
        Json experiment = experiment_json(*details, true);
        // Once in the experiment and once beside it, as Determined answers.
        Json config = *experiment.find("config");
        return json_reply(Json::Object{{"experiment", std::move(experiment)},
                                       {"config", std::move(config)},
                                       {"jobSummary", Json()},
                                       {"warnings", Json::Array{}},
                                       {"configWarnings", texts_json(warnings)}});
      });
}

namespace {

// ---- made ----

/// What the request asks for, with the template and the project that it names.
struct Wish {
  CreateExperiment create;
  bool is_checked_only = false;
  std::optional<std::string> template_name;
  std::optional<std::uint32_t> project;  ///< a place
};

/// What the catalog and the site add to a configuration.
struct Layers {
  DocumentRef base;       ///< a template; null: none
  DocumentRef project;    ///< null: as the configuration says
  DocumentRef workspace;  ///< the project's
  std::string partition;  ///< of those who ask for none
};

Result<Layers> layers_of(const Wish& wish, const ClusterState& state) {
  Layers layers;
  const auto usual = std::ranges::find_if(state.partitions(), &PartitionConfig::is_default);
  if (usual != state.partitions().end()) layers.partition = usual->name;
  if (wish.template_name) {
    layers.base = state.catalog().find(DocumentKind::kTemplate, 0, *wish.template_name);
    if (layers.base == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no template {}", *wish.template_name),
                  "");
  }
  if (wish.project) {
    const auto id = document_of(*wish.project);
    layers.project = id ? state.catalog().find(DocumentKind::kProject, *id) : nullptr;
    // 0 is the first project, which has no document.
    if (id && layers.project == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no project {}", *wish.project), "");
    if (layers.project != nullptr)
      layers.workspace = state.catalog().find(DocumentKind::kWorkspace, layers.project->parent);
  }
  return layers;
}

/// A configuration as it is to be submitted.
struct Layered {
  std::string text;  ///< the user's own, unless a layer adds something
  CheckedExperiment checked;
};

/// The configuration over its layers. Errors: what is wrong with it, with the lines of the user's
/// text.
Result<Layered> layered(const std::string& text, const Layers& layers, const SiteDefaults& site) {
  // Before it is parsed: a large text costs parsing.
  TRY(check_config_size(text));
  const YamlDocument document = TRY(parse_yaml(text));
  // The user's text keeps its lines, which problems are told by.
  Json config = document.root;
  // A list or a word is YAML, too.
  if (config.object() == nullptr) return fail(wrong("the configuration is not a map"));
  // A template lies under the configuration, and so do the defaults of the site.
  if (layers.base != nullptr) {
    const YamlDocument below = TRY(parse_yaml(layers.base->body));
    config = merge_layers(config, below.root);
  }
  // The project that the request names goes before what the text says.
  if (layers.project != nullptr) {
    config.member("project") = layers.project->name;
    config.member("workspace") = layers.workspace->name;
  }
  if (site.has_any()) config = over_site_defaults(config, site, layers.partition);
  Layered made;
  made.checked = TRY(check_experiment(config, document.lines));
  // As it was written, comments included, where no layer adds anything.
  made.text = config == document.root ? text : json_text(config);
  return made;
}

/// Parses the body and packs the code: by a worker.
Result<Wish> wish_of(const HttpRequest& request, const UserAccount& user) {
  const Json body = TRY(body_of(request));
  Wish wish;
  // By name, because it would mean that no cluster runs it.
  TRY(refuse_fields(body, {"unmanaged"}, "create the experiment without it"));
  TRY(check_flags(body, {"validateOnly", "activate"}));
  TRY(check_texts(body, {"template"}));
  wish.is_checked_only = bool_field(body, "validateOnly").value_or(false);
  wish.create.is_paused = !bool_field(body, "activate").value_or(true);
  auto config = text_field(body, "config");
  if (!config) return fail(wrong("config is missing: the experiment's configuration, as YAML"));
  wish.create.original = std::move(*config);
  const auto parent = TRY(id_field(body, "parentId"));
  wish.create.parent = ExperimentId(parent.value_or(0));
  wish.template_name = text_field(body, "template");
  wish.project = TRY(id_field(body, "projectId"));
  const Json* code = field(body, "modelDefinition");
  // An empty list is no code: trials run in the owner's folder.
  if (code != nullptr && (code->array() == nullptr || !code->array()->empty())) {
    wish.create.context = std::make_shared<const std::string>(TRY(archive_of(*code)));
  }
  wish.create.job = plain_job(user, "experiment");
  // A plain environment: over HTTP nobody's shell is known.
  wish.create.environment =
      std::make_shared<const std::string>(plain_environment(user, request.caller.claims.user_name));
  return wish;
}

kj::Promise<HttpReply> submit_wish(ApiPort& port, const Caller& caller, Wish wish, Layered config) {
  std::vector<std::string> warnings = std::move(config.checked.warnings);
  // Checked and merged, and nothing is created.
  if (wish.is_checked_only) {
    return json_reply(Json::Object{{"experiment", Json()},
                                   {"config", std::move(config.checked.merged)},
                                   {"warnings", Json::Array{}},
                                   {"configWarnings", texts_json(warnings)}});
  }
  wish.create.config = std::move(config.text);
  std::vector<Request> requests;
  requests.emplace_back(std::move(wish.create));
  return port.submit(caller, std::move(requests))
      .then([&port, caller, warnings = std::move(warnings)](
                std::vector<Reply> replies) mutable -> kj::Promise<HttpReply> {
        if (const auto error = error_of(replies)) return error_reply(*error);
        return show_experiment(port, caller, replies.front().experiment, std::move(warnings));
      });
}

kj::Promise<HttpReply> create(ApiPort& port, HttpRequest request) {
  const Caller caller = request.caller;
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  auto parse = [&users = port.users(), shared = std::move(shared)] {
    return wish_of(*shared, users.account(shared->caller.identity.user));
  };
  // Parsing and packing of megabytes would hold up every other caller.
  return work<Wish>(port, std::move(parse))
      .then([&port, caller](Result<Wish> read) -> kj::Promise<HttpReply> {
        if (!read.has_value()) return error_reply(read.error());
        auto wish = std::make_shared<Wish>(std::move(read).value());
        return look<Layers>(port, caller,
                            [wish](const ClusterState& state) { return layers_of(*wish, state); })
            .then([&port, wish](Result<Layers> layers) -> kj::Promise<Result<Layered>> {
              if (!layers.has_value()) return Result<Layered>(fail(layers.error()));
              // Settings do not change while the daemon runs.
              const SiteDefaults& site = port.settings().site_defaults;
              return work<Layered>(port, [wish, &site, layers = std::move(layers).value()] {
                return layered(wish->create.original, layers, site);
              });
            })
            .then([&port, caller, wish](Result<Layered> config) -> kj::Promise<HttpReply> {
              if (!config.has_value()) return error_reply(config.error());
              return submit_wish(port, caller, std::move(*wish), std::move(config).value());
            });
      });
}

// ---- looked at ----

bool holds(const std::vector<std::string>& wanted, const std::string& value) {
  // No condition lets everything through.
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

/// The conditions of a list's query.
struct ListFilter {
  std::vector<std::string> users;
  std::vector<std::string> user_ids;
  std::vector<std::string> states;
  std::vector<std::string> labels;
  std::string name;
  std::string description;
  std::optional<bool> is_archived;
  std::uint32_t project = 0;
  std::int64_t id_low = 1;
  std::int64_t id_high = UINT32_MAX;
  std::vector<std::string> ids;  ///< these alone; empty: all
  std::vector<std::string> not_ids;
};

bool matches(const ListFilter& filter, const ExperimentDetails& details) {
  const ExperimentView& view = details.view;
  const std::string id = std::to_string(view.id.value());
  if (view.id.value() < filter.id_low || view.id.value() > filter.id_high || !holds(filter.ids, id))
    return false;
  if (std::ranges::find(filter.not_ids, id) != filter.not_ids.end()) return false;
  if (!holds(filter.users, view.spec->user_name) ||
      !holds(filter.user_ids, std::to_string(user_number(view.spec->user))))
    return false;
  const bool is_active = view.state == ExperimentState::kActive;
  // STATE_ACTIVE asks for all that are active, whether they run or wait.
  if (!holds(filter.states, state_name(view)) &&
      !(is_active && holds(filter.states, "STATE_ACTIVE")))
    return false;
  if (filter.is_archived && *filter.is_archived != view.labels.is_archived) return false;
  for (const std::string& label : filter.labels) {
    if (std::ranges::find(view.labels.labels, label) == view.labels.labels.end()) return false;
  }
  if (filter.project != 0 && details.project != filter.project) return false;
  // Parts of texts, as Determined's filter has it.
  return view.labels.name.find(filter.name) != std::string::npos &&
         view.labels.description.find(filter.description) != std::string::npos;
}

Result<ListFilter> filter_of(const HttpRequest& request) {
  ListFilter filter;
  filter.users = request.parameters("users");
  filter.user_ids = request.parameters("userIds");
  filter.states = TRY(states_parameter(request));
  filter.labels = request.parameters("labels");
  filter.name = request.parameter("name");
  filter.description = request.parameter("description");
  filter.is_archived = TRY(flag_parameter(request, "archived"));
  filter.project = TRY(id_parameter(request, "projectId"));
  // gRPC's names of nested fields are joined by dots.
  const std::string id = "experimentIdFilter.";
  const std::int64_t above = TRY(number_parameter(request, id + "gt", 0));
  const std::int64_t from = TRY(number_parameter(request, id + "gte", 0));
  // One beyond what an id can be.
  const std::int64_t below =
      TRY(number_parameter(request, id + "lt", std::int64_t{UINT32_MAX} + 1));
  const std::int64_t to = TRY(number_parameter(request, id + "lte", UINT32_MAX));
  // Bounds that cannot be raised or lowered by one stay as they are.
  filter.id_low = std::max(from, above == INT64_MAX ? above : above + 1);
  filter.id_high = std::min(to, below == INT64_MIN ? below : below - 1);
  for (const auto& [name, ids] :
       {std::pair("incl", &filter.ids), std::pair("notIn", &filter.not_ids)}) {
    for (const std::string& text : request.parameters(id + name))
      ids->push_back(std::to_string(TRY(parse_id(text, "an experiment"))));
  }
  return filter;
}

Status sort(std::vector<ExperimentDetails>& all, const HttpRequest& request) {
  using One = ExperimentDetails;
  return sort_list<One>(
      request, all,
      {sort_key<One>("SORT_BY_ID", [](const One& one) { return one.view.id; }),
       sort_key<One>("SORT_BY_NAME", [](const One& one) { return one.view.labels.name; }),
       sort_key<One>("SORT_BY_DESCRIPTION",
                     [](const One& one) { return one.view.labels.description; }),
       sort_key<One>("SORT_BY_USER", [](const One& one) { return one.view.spec->user_name; }),
       sort_key<One>("SORT_BY_START_TIME", [](const One& one) { return one.view.submit_time; }),
       sort_key<One>("SORT_BY_END_TIME", [](const One& one) { return one.view.end_time; }),
       sort_key<One>("SORT_BY_STATE", [](const One& one) { return one.view.state; }),
       sort_key<One>("SORT_BY_PROGRESS", [](const One& one) { return one.view.progress; }),
       sort_key<One>("SORT_BY_NUM_TRIALS", [](const One& one) { return one.view.trials.total(); }),
       sort_key<One>("SORT_BY_FORKED_FROM", [](const One& one) { return one.view.spec->parent; }),
       sort_key<One>("SORT_BY_RESOURCE_POOL", [](const One& one) { return one.pool; }),
       sort_key<One>("SORT_BY_CHECKPOINT_SIZE",
                     [](const One& one) { return one.checkpoint_bytes; }),
       sort_key<One>("SORT_BY_CHECKPOINT_COUNT", [](const One& one) { return one.checkpoints; }),
       sort_key<One>("SORT_BY_PROJECT_ID", [](const One& one) { return one.project; }),
       // Experiments without a metric come last.
       number_key<One>("SORT_BY_SEARCHER_METRIC_VAL", [](const One& one) {
         return one.view.best_trial.value() == 0 ? std::nullopt
                                                 : std::optional(one.view.best_metric);
       })});
}

void count_checkpoints(const ClusterState& state, const Experiment& experiment,
                       ExperimentDetails& details) {
  // What was deleted takes no space.
  for (const TrialId trial : experiment.trials) {
    for (const CheckpointRef& checkpoint : state.checkpoints().of(trial)) {
      if (checkpoint->state == CheckpointState::kDeleted) continue;
      details.checkpoint_bytes += checkpoint->size;
      ++details.checkpoints;
    }
  }
}

kj::Promise<HttpReply> list(ApiPort& port, HttpRequest request) {
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  const auto filter = filter_of(*shared);
  if (!filter.has_value()) return error_reply(filter.error());
  using All = std::vector<ExperimentDetails>;
  return look<All>(port, shared->caller,
                   [shared, filter = *filter](const ClusterState& state) -> Result<All> {
                     All all;
                     // A walk over all checkpoints only for who sorts by them.
                     const bool is_by_checkpoints =
                         shared->parameter("sortBy").starts_with("SORT_BY_CHECKPOINT_");
                     for (const auto& [id, experiment] : state.experiments().experiments()) {
                       ExperimentDetails details = details_of(state, experiment);
                       if (!matches(filter, details)) continue;
                       if (is_by_checkpoints) count_checkpoints(state, experiment, details);
                       all.push_back(std::move(details));
                     }
                     return all;
                   })
      .then([shared](Result<All> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        if (const Status sorted = sort(*all, *shared); !sorted.has_value())
          return error_reply(sorted.error());
        // Without texts: they are the larger part of an experiment.
        return list_reply(*shared, "experiments", *all,
                          [](const ExperimentDetails& one) { return experiment_json(one, false); });
      });
}

kj::Promise<HttpReply> show(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  return show_experiment(port, request.caller, *id);
}

/// Of the words that trials are sorted by: what they measured decides.
constexpr std::array<std::string_view, 3> kMeasuredKeys{"SORT_BY_BEST_VALIDATION_METRIC",
                                                        "SORT_BY_LATEST_VALIDATION_METRIC",
                                                        "SORT_BY_BATCHES_PROCESSED"};

std::optional<double> metric_in(const TrialDetails& details,
                                const std::optional<StoredReport>& report) {
  return report ? number_in(*report, details.metric) : std::nullopt;
}

Status sort_trials(std::vector<TrialDetails>& all, const HttpRequest& request, TimePoint now) {
  using One = TrialDetails;
  return sort_list<One>(
      request, all,
      {sort_key<One>("SORT_BY_ID", [](const One& one) { return one.view.id; }),
       sort_key<One>("SORT_BY_START_TIME", [](const One& one) { return one.view.submit_time; }),
       sort_key<One>("SORT_BY_END_TIME", [](const One& one) { return one.view.end_time; }),
       sort_key<One>("SORT_BY_STATE", [](const One& one) { return one.view.state; }),
       sort_key<One>("SORT_BY_DURATION",
                     [now](const One& one) { return wall_time(one.view, now); }),
       sort_key<One>("SORT_BY_RESTARTS", [](const One& one) { return one.view.restarts; }),
       sort_key<One>("SORT_BY_CHECKPOINT_SIZE",
                     [](const One& one) { return one.view.checkpoint_bytes; }),
       sort_key<One>(
           "SORT_BY_LOG_RETENTION_DAYS",
           [](const One& one) { return static_cast<std::uint32_t>(one.view.log_retention_days); }),
       number_key<One>(kMeasuredKeys[0],
                       [](const One& one) { return metric_in(one, one.best_validation); }),
       number_key<One>(kMeasuredKeys[1],
                       [](const One& one) { return metric_in(one, one.latest_validation); }),
       sort_key<One>(kMeasuredKeys[2], [](const One& one) { return one.total_batches(); })});
}

/// Errors: kNotFound.
Result<std::vector<TrialDetails>> all_details_of(const ClusterState& state, ExperimentId id) {
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()), "");
  std::vector<TrialDetails> all;
  for (const TrialId trial : experiment->trials) all.push_back(TRY(details_of(state, trial)));
  return all;
}

kj::Promise<HttpReply> list_trials(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  using All = std::vector<TrialDetails>;
  return look<All>(port, shared->caller,
                   [id = *id](const ClusterState& state) { return all_details_of(state, id); })
      .then([&port, shared](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        const auto states = states_parameter(*shared);
        if (!states.has_value()) return error_reply(states.error());
        std::erase_if(*all, [&](const TrialDetails& one) {
          return !holds(*states, state_name(one.view, one.experiment_state));
        });
        const auto window = window_of(*shared, all->size());
        if (!window.has_value()) return error_reply(window.error());
        const bool is_by_measure =
            std::ranges::find(kMeasuredKeys, shared->parameter("sortBy")) != kMeasuredKeys.end();
        if (!is_by_measure) {
          if (const Status sorted = sort_trials(*all, *shared, port.now()); !sorted.has_value())
            return error_reply(sorted.error());
        }
        // Only what is shown is measured, where all are not needed to sort them.
        const std::size_t begin = is_by_measure ? 0 : window->begin;
        const std::size_t end = is_by_measure ? all->size() : window->end;
        return measured(port, std::move(all).value(), begin, end)
            .then([shared, is_by_measure, now = port.now()](Result<All> full) -> Result<All> {
              if (!full.has_value()) return fail(full.error());
              if (is_by_measure) TRY(sort_trials(*full, *shared, now));
              return full;
            })
            .then([&port, shared](Result<All> full) -> HttpReply {
              if (!full.has_value()) return error_reply(full.error());
              return list_reply(*shared, "trials", *full,
                                [&port](const TrialDetails& one) { return trial_json(port, one); });
            });
      });
}

kj::Promise<HttpReply> list_checkpoints(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  using All = std::vector<CheckpointDetails>;
  return look<All>(port, shared->caller,
                   [id = *id](const ClusterState& state) -> Result<All> {
                     const Experiment* experiment = state.experiments().find(id);
                     if (experiment == nullptr)
                       return fail(ErrorCode::kNotFound,
                                   fmt::format("there is no experiment {}", id.value()), "");
                     All all;
                     for (const TrialId trial : experiment->trials) {
                       for (const CheckpointRef& checkpoint : state.checkpoints().of(trial))
                         all.push_back(details_of(state, *checkpoint));
                     }
                     return all;
                   })
      .then([&port, shared](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return checkpoint_list(port, shared, std::move(all).value());
      });
}

/// The best validation of the trials; `answers`: the best of each. Nullopt: there is none, or no
/// number.
std::optional<double> best_of(const std::vector<TrialDetails>& trials, MetricAnswers& answers) {
  std::optional<double> best;
  for (const TrialDetails& details : trials) {
    const auto value = metric_in(details, answers.next<BestReportQuestion>());
    // NaN would be better or worse than anything by chance.
    if (!value || std::isnan(*value)) continue;
    if (!best || (details.is_smaller_better ? *value < *best : *value > *best)) best = *value;
  }
  return best;
}

kj::Promise<HttpReply> best_metric(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  using All = std::vector<TrialDetails>;
  return look<All>(port, request.caller,
                   [id = *id](const ClusterState& state) { return all_details_of(state, id); })
      .then([&port](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        std::vector<MetricQuestion> questions;
        // One question for each trial, in one trip to the store.
        for (const TrialDetails& one : *all) {
          questions.emplace_back(
              BestReportQuestion{one.view.id, "validation", one.metric, one.is_smaller_better});
        }
        return port.measure(std::move(questions))
            .then([all = std::move(all).value()](
                      Result<MetricAnswers> answers) -> Result<std::optional<double>> {
              if (!answers.has_value()) return fail(answers.error());
              return best_of(all, *answers);
            })
            .then([](Result<std::optional<double>> best) {
              if (!best.has_value()) return error_reply(best.error());
              if (!*best)
                return error_reply({ErrorCode::kNotFound, "no validation was reported yet", ""});
              return json_reply(Json::Object{{"metric", **best}});
            });
      });
}

kj::Promise<HttpReply> model_definition(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  return look<BlobId>(
             port, request.caller,
             [id = *id,
              identity = request.caller.identity](const ClusterState& state) -> Result<BlobId> {
               const Experiment* experiment = state.experiments().find(id);
               // 0: an imported experiment whose code stayed where it was.
               if (experiment == nullptr)
                 return fail(ErrorCode::kNotFound,
                             fmt::format("there is no experiment {}", id.value()), "");
               TRY(access::check_readable(state, *experiment, identity));
               if (experiment->spec->job->script.value() != 0) return experiment->spec->job->script;
               return fail(
                   ErrorCode::kNotFound,
                   fmt::format("the code of experiment {} was not imported with it", id.value()),
                   "");
             })
      .then([&port](Result<BlobId> blob) -> kj::Promise<HttpReply> {
        if (!blob.has_value()) return error_reply(blob.error());
        return port.blob(*blob).then([&port](Result<std::string> script) -> kj::Promise<HttpReply> {
          if (!script.has_value()) return error_reply(script.error());
          // Unpacked and encoded by a worker: code may be many megabytes.
          return work<std::string>(
                     port, [script = std::move(script).value()] { return archive_text(script); })
              .then([](Result<std::string> text) {
                return text.has_value() ? json_reply(Json::Object{{"b64Tgz", *text}})
                                        : error_reply(text.error());
              });
        });
      });
}

// ---- changed ----

kj::Promise<HttpReply> control(ApiPort& port, HttpRequest request, ExperimentVerb verb) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  return submit_one(port, request.caller, ControlExperiments{verb, {*id}});
}

/// One outcome for each experiment.
kj::Promise<HttpReply> control_many(ApiPort& port, HttpRequest request, ExperimentVerb verb) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  // Filters would have to be understood as Determined does, else too much is deleted.
  if (const Status plain =
          refuse_fields(*body, {"filters"}, "name the experiments in experimentIds");
      !plain.has_value())
    return error_reply(plain.error());
  const auto ids = ids_field(*body, "experimentIds");
  if (!ids.has_value()) return error_reply(ids.error());
  ControlExperiments command{verb, {}};
  for (const std::uint32_t id : *ids) command.experiments.emplace_back(id);
  std::vector<Request> requests;
  requests.emplace_back(std::move(command));
  // Each has an outcome of its own: some may be refused.
  return port.submit(request.caller, std::move(requests)).then([](std::vector<Reply> replies) {
    if (replies.front().error) return error_reply(*replies.front().error);
    Json::Array results;
    for (const ExperimentOutcome& outcome : replies.front().experiments) {
      // An empty error is a success, as Determined answers.
      results.emplace_back(Json::Object{{"id", outcome.experiment.value()},
                                        {"error", outcome.error ? outcome.error->text() : ""}});
    }
    return json_reply(Json::Object{{"results", std::move(results)}});
  });
}

kj::Promise<HttpReply> patch(ApiPort& port, HttpRequest request) {
  const auto id = id_of(request);
  const auto body = body_of(request);
  if (!id.has_value()) return error_reply(id.error());
  if (!body.has_value()) return error_reply(body.error());
  using Known = std::tuple<ExperimentLabels, ExperimentSpecRef, CheckpointRetention>;
  return look<Known>(port, request.caller,
                     [id = *id](const ClusterState& state) -> Result<Known> {
                       const Experiment* experiment = state.experiments().find(id);
                       if (experiment == nullptr)
                         return fail(ErrorCode::kNotFound,
                                     fmt::format("there is no experiment {}", id.value()), "");
                       return Known(experiment->labels, experiment->spec, experiment->retention);
                     })
      .then([&port, caller = request.caller, id = *id,
             body = *body](Result<Known> known) -> kj::Promise<HttpReply> {
        if (!known.has_value()) return error_reply(known.error());
        const auto& [labels, spec, retention] = *known;
        const auto update = experiment_update(body, id, {labels, *spec, retention});
        if (!update.has_value()) return error_reply(update.error());
        return submit_one(port, caller, *update)
            .then([&port, caller, id](HttpReply reply) -> kj::Promise<HttpReply> {
              // As it is now, also where only some of it changed.
              if (reply.status != 200) return reply;
              return show_experiment(port, caller, id);
            });
      });
}

/// Adds one, or takes it away; those that there are then.
kj::Promise<HttpReply> change_label(ApiPort& port, HttpRequest request, bool is_added) {
  const auto id = id_of(request);
  if (!id.has_value()) return error_reply(id.error());
  UpdateExperiment update;
  update.experiment = *id;
  (is_added ? update.add_labels : update.remove_labels) = {request.arguments[1]};
  return submit_one(port, request.caller, std::move(update))
      .then([&port, caller = request.caller, id = *id](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return look<Json>(
                   port, caller,
                   [id](const ClusterState& state) -> Result<Json> {
                     const Experiment* experiment = state.experiments().find(id);
                     if (experiment == nullptr)
                       return fail(ErrorCode::kNotFound,
                                   fmt::format("there is no experiment {}", id.value()), "");
                     return Json(Json::Object{{"labels", texts_json(experiment->labels.labels)}});
                   })
            .then([](Result<Json> labels) {
              return labels.has_value() ? json_reply(*labels) : error_reply(labels.error());
            });
      });
}

}  // namespace

void add_experiment_routes(Router& router) {
  router.add(Method::kPut, "/api/v1/experiments/{experiment}/labels/{label}", "Add a label",
             [](ApiPort& port, HttpRequest request) {
               return change_label(port, std::move(request), true);
             });
  router.add(Method::kDelete, "/api/v1/experiments/{experiment}/labels/{label}",
             "Take a label away", [](ApiPort& port, HttpRequest request) {
               return change_label(port, std::move(request), false);
             });
  router.add(Method::kPost, "/api/v1/experiments", "Create an experiment", create);
  router.add(
      Method::kGet, "/api/v1/experiments", "Experiments", list,
      list_parameters({"sortBy", "orderBy", "users", "userIds", "states", "labels", "name",
                       "description", "archived", "projectId", "experimentIdFilter.gt",
                       "experimentIdFilter.gte", "experimentIdFilter.lt", "experimentIdFilter.lte",
                       "experimentIdFilter.incl", "experimentIdFilter.notIn"}));
  router.add(Method::kGet, "/api/v1/experiments/{experiment}", "One experiment", show);
  router.add(Method::kPatch, "/api/v1/experiments/{experiment}",
             "Change its name, description, notes or labels", patch);
  router.add(Method::kGet, "/api/v1/experiments/{experiment}/trials", "Trials of an experiment",
             list_trials, list_parameters({"sortBy", "orderBy", "states"}));
  router.add(Method::kGet, "/api/v1/experiments/{experiment}/checkpoints",
             "Checkpoints of an experiment", list_checkpoints, checkpoint_list_parameters());
  router.add(Method::kGet, "/api/v1/experiments/{experiment}/model_def",
             "Its code, as a compressed archive", model_definition);
  router.add(Method::kGet,
             "/api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric",
             "The best of its validations", best_metric);
  const std::pair<const char*, ExperimentVerb> verbs[] = {
      {"pause", ExperimentVerb::kPause},     {"activate", ExperimentVerb::kActivate},
      {"cancel", ExperimentVerb::kCancel},   {"kill", ExperimentVerb::kKill},
      {"archive", ExperimentVerb::kArchive}, {"unarchive", ExperimentVerb::kUnarchive}};
  router.add(Method::kPost, "/api/v1/projects/{project}/experiments/delete",
             "Delete several experiments", [](ApiPort& port, HttpRequest request) {
               return control_many(port, std::move(request), ExperimentVerb::kDelete);
             });
  router.add(Method::kDelete, "/api/v1/projects/{project}/experiments/delete",
             "Delete several experiments", [](ApiPort& port, HttpRequest request) {
               return control_many(port, std::move(request), ExperimentVerb::kDelete);
             });
  for (const auto& [name, verb] : verbs) {
    router.add(Method::kPost, fmt::format("/api/v1/experiments/{{experiment}}/{}", name),
               fmt::format("{} an experiment", name),
               [verb = verb](ApiPort& port, HttpRequest request) {
                 return control(port, std::move(request), verb);
               });
    router.add(Method::kPost, fmt::format("/api/v1/projects/{{project}}/experiments/{}", name),
               fmt::format("{} several experiments", name),
               [verb = verb](ApiPort& port, HttpRequest request) {
                 return control_many(port, std::move(request), verb);
               });
  }
}

}  // namespace muster::api
