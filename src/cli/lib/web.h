// Asks the controller's HTTP as the caller, for what its own protocol has not.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/lib/http_access.h"
#include "cli/lib/session.h"
#include "model/json.h"

namespace muster::cli {

/// A client of HTTP. Paths are below /api/v1/ unless they begin with a slash. Requires of all but
/// open: it was opened. Errors: as call_http.
class Web {
 public:
  explicit Web(Session& session) : session_(session) {}
  /// Gets address and token. Errors: kFailedPrecondition: HTTP is not served.
  Status open();
  Result<Json> get(const std::string& path);
  Result<Json> post(const std::string& path, const Json& body);
  Status stream(const std::string& path, std::string accept,
                const std::function<Status(std::string_view bytes)>& take);
  const std::string& master() const { return access_.master; }

 private:
  Session& session_;
  HttpAccess access_;
};

/// Returns all of a list that is answered page by page, from a path without a query. Errors: as
/// above.
Result<std::vector<Json>> all_items(Web& web, const std::string& path, std::string_view name);

/// Prints what stands at a path as JSON. Returns the command's exit code.
int print_json(const Console& console, Session& session, const std::string& path);

/// Returns a member that is a text; empty: there is none.
std::string text_of(const Json& object, std::string_view name);
/// Returns a value for a table: numbers with six digits, as --json has them all; "-" for none.
std::string number_cell(const Json* value);
/// Returns the items of a member that is a list; none where there is no list.
std::vector<Json> items_of(const Json& object, std::string_view name);

}  // namespace muster::cli
