// Decides which requests may come in at all: those that name us, and changes that no page of
// another site sends in its visitor's name. Who asks, and what he may do, does not belong here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/http/http_message.h"
#include "base/result.h"

namespace muster::api {

/// The names under which this controller is asked. A name that somebody points at our address is
/// none of them: a page under it would be this controller's own to a browser (DNS rebinding).
/// Addresses and localhost always are ours, as nobody can point them elsewhere.
class OwnHosts {
 public:
  OwnHosts() = default;
  /// Sets the names. `names`: without ports, in any case; "*.example.org": all below example.org.
  explicit OwnHosts(const std::vector<std::string>& names);
  /// True when the host is ours. `host`: as the header has it, "NAME" or "NAME:PORT". The port is
  /// not looked at: tunnels change it.
  bool has(std::string_view host) const;

 private:
  std::vector<std::string> names_;
};

/// What a request's headers say of where it comes from; empty: the header is not there.
struct RequestOrigin {
  std::string_view host;
  std::string_view origin;
  std::string_view fetch_site;  ///< Sec-Fetch-Site
  std::string_view content_type;
  bool has_request_header = false;  ///< X-Muster-Request
  bool is_by_cookie = false;        ///< who asks is known by a cookie alone
};

/// Checks the Host header. Errors: kInvalidArgument: no Host; kPermissionDenied: a Host that is not
/// ours.
Status check_host(const OwnHosts& own, std::string_view host);
/// Checks a request that changes something; reading is left to the browser, which shows no page
/// what another origin answers. Errors: kPermissionDenied: another origin's page sends it, or a
/// cookie is all that speaks for it. Source: Fetch Metadata Request Headers (W3C); RFC 6454.
Status check_origin(Method method, const RequestOrigin& from);

/// Returns every name that a hosts file gives to the addresses of `host`, and `host`. Source:
/// hosts(5).
std::vector<std::string> names_in_hosts_file(std::string_view text, std::string_view host);

}  // namespace muster::api
