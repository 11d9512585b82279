// Finds the handler that answers a path.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/api_port.h"
#include "api/http/http_message.h"

namespace muster::api {

using Handler = std::function<kj::Promise<HttpReply>(ApiPort& port, HttpRequest request)>;

struct Route {
  Method method = Method::kGet;
  std::string
      pattern;  ///< "/api/v1/trials/{id}/metrics": a name in braces stands for one part of the path
  std::string summary;  ///< for the OpenAPI document
  Handler handler;
  bool is_open = false;                      ///< needs no token
  bool is_for_tasks = false;                 ///< changes what a run may change: its token will do
  std::vector<std::string> parts = {};       ///< of the pattern; filled in by the router
  std::vector<std::string> parameters = {};  ///< what may stand behind '?'
};

class Router {
 public:
  /// Adds a route. `parameters`: the names that the handler honours; a request with another one is
  /// refused.
  void add(Method method, std::string pattern, std::string summary, Handler handler,
           std::vector<std::string> parameters = {});
  /// Adds a route that is also for runs of trials, with their own tokens. Reading needs no such
  /// leave.
  void add_for_tasks(Method method, std::string pattern, std::string summary, Handler handler,
                     std::vector<std::string> parameters = {});
  /// Adds a route for callers without a token.
  void add_open(Method method, std::string pattern, std::string summary, Handler handler);
  /// Returns the route of a request, and fills in its `arguments`; null: there is none.
  /// `is_known_path`: there is a route of another method.
  const Route* find(HttpRequest& request, bool& is_known_path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::map<std::size_t, std::vector<std::size_t>>
      by_size_;  ///< indices in `routes_` by the number of parts
};

/// Checks a request's parameters. Errors: kInvalidArgument: a parameter of the request's is not the
/// route's, with those that are.
Status check_parameters(const Route& route, const HttpRequest& request);

/// Returns the names of a list's window, and those given.
std::vector<std::string> list_parameters(std::vector<std::string> names = {});

/// Returns all routes that we serve, in the order in which patterns are tried.
Router make_router();

// Each function adds the routes of Determined's API about one noun. Source: Determined 0.38, REST.
void add_cluster_routes(Router& router);
void add_session_routes(Router& router);
void add_token_routes(Router& router);
void add_queue_routes(Router& router);
void add_experiment_routes(Router& router);
void add_lifecycle_routes(Router& router);
void add_trial_routes(Router& router);
void add_workload_routes(Router& router);
void add_run_routes(Router& router);
void add_log_routes(Router& router);
void add_log_retention_routes(Router& router);
void add_checkpoint_routes(Router& router);
void add_checkpoint_use_routes(Router& router);
void add_model_routes(Router& router);
void add_search_routes(Router& router);
void add_custom_search_routes(Router& router);
void add_import_routes(Router& router);
void add_project_routes(Router& router);
void add_service_routes(Router& router);
void add_tensorboard_routes(Router& router);
void add_checkpoint_download_routes(Router& router);
void add_checkpoint_file_routes(Router& router);

}  // namespace muster::api
