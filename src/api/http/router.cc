// Which handler answers which path. Paths are short lists of words, and routes with as many words
// are few: they are tried one by one, and the first that was added wins.

#include "api/http/router.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "text/words.h"

namespace muster::api {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) parts.emplace_back(part);
  return parts;
}

bool is_place(std::string_view part) { return part.starts_with('{'); }

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    // A part in braces takes any word but an empty one.
    if (pattern[i] != path[i] && (!is_place(pattern[i]) || path[i].empty())) return false;
  }
  return true;
}

std::vector<std::string> arguments_of(const std::vector<std::string>& pattern,
                                      const std::vector<std::string_view>& path) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_place(pattern[i])) arguments.emplace_back(path[i]);
  }
  return arguments;
}

}  // namespace

void Router::add(Method method, std::string pattern, std::string summary, Handler handler,
                 std::vector<std::string> parameters) {
  std::vector<std::string> parts = parts_of(pattern);
  // By length first: most paths are told apart by it.
  by_size_[parts.size()].push_back(routes_.size());
  // Closed to callers without a token, and to those with a task's, unless the callers of add()
  // open it.
  routes_.push_back({method, std::move(pattern), std::move(summary), std::move(handler), false,
                     false, std::move(parts), std::move(parameters)});
}

void Router::add_for_tasks(Method method, std::string pattern, std::string summary, Handler handler,
                           std::vector<std::string> parameters) {
  add(method, std::move(pattern), std::move(summary), std::move(handler), std::move(parameters));
  routes_.back().is_for_tasks = true;
}

void Router::add_open(Method method, std::string pattern, std::string summary, Handler handler) {
  add(method, std::move(pattern), std::move(summary), std::move(handler));
  routes_.back().is_open = true;
}

const Route* Router::find(HttpRequest& request, bool& is_known_path) const {
  const std::vector<std::string_view> path = split(request.path, '/');
  // A path that is known with another method is 405, not 404.
  is_known_path = false;
  const auto candidates = by_size_.find(path.size());
  if (candidates == by_size_.end()) return nullptr;
  for (const std::size_t place : candidates->second) {
    const Route& route = routes_[place];
    if (!matches(route.parts, path)) continue;
    if (route.method == request.method) {
      request.arguments = arguments_of(route.parts, path);
      return &route;
    }
    is_known_path = true;
  }
  return nullptr;
}

Status check_parameters(const Route& route, const HttpRequest& request) {
  for (const auto& [name, value] : request.query) {
    // A misspelt parameter would be a filter that filters nothing.
    if (std::ranges::find(route.parameters, name) != route.parameters.end()) continue;
    const std::string known = route.parameters.empty()
                                  ? "it takes none"
                                  : fmt::format("it takes {}", fmt::join(route.parameters, ", "));
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has no parameter '{}'", request.path, name), known);
  }
  return {};
}

std::vector<std::string> list_parameters(std::vector<std::string> names) {
  // Every list can be read in pages, as Determined's lists are.
  for (const char* name : {"offset", "limit"}) names.emplace_back(name);
  return names;
}

Router make_router() {
  Router router;
  add_cluster_routes(router);
  add_session_routes(router);
  add_token_routes(router);
  add_queue_routes(router);
  add_run_routes(router);
  add_log_routes(router);
  add_log_retention_routes(router);
  add_trial_routes(router);
  add_workload_routes(router);
  // Fixed words before placeholders, as the order of adding decides.
  add_lifecycle_routes(router);  // its /experiments/continue before what takes any number there
  add_experiment_routes(router);
  add_checkpoint_routes(router);
  add_checkpoint_use_routes(router);
  add_model_routes(router);
  add_search_routes(router);
  add_custom_search_routes(router);
  add_import_routes(router);
  add_project_routes(router);
  add_service_routes(router);
  add_tensorboard_routes(router);
  add_checkpoint_download_routes(router);
  add_checkpoint_file_routes(router);
  return router;
}

}  // namespace muster::api
