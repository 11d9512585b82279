// A look at what a search will do.
// The search is run in virtual time on a worker, with results by chance: how many trials there are
// and how far they train follows from the method; which of them survive does not.
#include <limits>
#include <map>

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "search/preview.h"
#include "trials/config_layers.h"
#include "trials/hyperparameter_form.h"
#include "trials/searcher_form.h"

namespace muster::api {
namespace {

/// Of trials that nothing stops and whose length nobody gives.
constexpr double kOwnEnd = std::numeric_limits<double>::max();

Json unit_json(const std::string& unit, double units) {
  if (units == kOwnEnd) return Json::Object{{"maxLength", true}};
  return Json::Object{{"name", unit.empty() ? "batches" : unit},
                      {"value", static_cast<std::int64_t>(units)},
                      {"maxLength", false}};
}

Result<Json> previewed(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  const Json* config = field(body, "config");
  if (config == nullptr || config->object() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "config: the experiment's configuration is missing",
                "");
  // With the defaults, as creation reads it.
  const Json merged = merge_layers(*config, experiment_defaults());
  const LineMap lines;
  // The preview has no lines: the body is JSON.
  FormContext context{lines, {}};
  FormReader top(context, &merged, "");
  FormReader hyperparameters = top.section("hyperparameters");
  const HyperSpace space = read_hyperparameters(hyperparameters);
  SearcherSection searcher;
  if (top.require("searcher", "the search method and its settings")) {
    FormReader section = top.section("searcher");
    std::string name;
    section.text("name", name);
    searcher = read_searcher(section, space, hyperparameters);
  }
  if (!context.problems.empty())
    return fail(ErrorCode::kInvalidArgument, "The experiment's configuration is wrong",
                context.problems.front().text());
  if (std::holds_alternative<CustomSearch>(searcher.search.method)) {
    return fail(ErrorCode::kFailedPrecondition, "a custom search cannot be previewed",
                "its client decides what it tries");
  }
  const double own_end =
      searcher.trial_length > 0 ? static_cast<double>(searcher.trial_length) : kOwnEnd;
  const Json* said = field(body, "seed");
  const auto seed = said == nullptr ? std::optional<std::int64_t>(0) : whole_of(*said);
  if (!seed) return fail(wrong("seed is not a whole number"));
  const search::PreviewRun run =
      search::preview_run(searcher.search, space, static_cast<std::uint64_t>(*seed), own_end);
  std::map<double, std::uint32_t> lengths;
  // How often each length occurs is what a page shows.
  for (const search::VirtualTrial& trial : run.result.trials) ++lengths[trial.units];
  Json::Array trials;
  for (const auto& [units, count] : lengths) {
    trials.emplace_back(
        Json::Object{{"count", count}, {"unit", unit_json(searcher.search.time_metric, units)}});
  }
  return Json(Json::Object{{"summary", Json::Object{{"config", *merged.find("searcher")},
                                                    {"trials", std::move(trials)}}}});
}

kj::Promise<HttpReply> preview(ApiPort& port, HttpRequest request) {
  return work<Json>(port, [request = std::move(request)] { return previewed(request); })
      .then([](Result<Json> shown) {
        return shown.has_value() ? json_reply(*shown) : error_reply(shown.error());
      });
}

}  // namespace

void add_search_routes(Router& router) {
  router.add(Method::kPost, "/api/v1/preview-hp-search",
             "How many trials a search has, and how far they train", preview);
}

}  // namespace muster::api
