// Which names and pages the API answers: browsers send credentials to whoever they are told to, so
// a request is judged by the headers that they add and cannot be told to leave out.

#include "api/http/site_check.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "text/words.h"

namespace muster::api {
namespace {

/// "[::1]:80" -> "[::1]", "Name.:80" -> "name".
std::string bare_name(std::string_view host) {
  // The port is not part of a name; an address of IPv6 has colons of its own.
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;
  std::string name = lower(has_port ? host.substr(0, colon) : host);
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool is_address(std::string name) {
  unsigned char bytes[sizeof(in6_addr)];
  // An address is a name that no DNS can turn into this machine: DNS rebinding needs a name.
  if (!name.starts_with('[')) return ::inet_pton(AF_INET, name.c_str(), bytes) == 1;
  if (!name.ends_with(']')) return false;
  return ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), bytes) == 1;
}

bool matches(std::string_view pattern, std::string_view name) {
  // "*.x" is a subdomain of x, and not x itself.
  if (!pattern.starts_with("*.")) return pattern == name;
  return name.size() > pattern.size() - 1 && name.ends_with(pattern.substr(1));
}

/// The rest of "http://HOST"; empty: it is another scheme's, or "null".
std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

bool is_json(std::string_view content_type) {
  return lower(content_type.substr(0, std::min(content_type.find(';'), content_type.size())))
      .starts_with("application/json");
}

}  // namespace

OwnHosts::OwnHosts(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.empty()) names_.push_back(lower(name));
  }
}

bool OwnHosts::has(std::string_view host) const {
  const std::string name = bare_name(host);
  if (name == "localhost" || name.ends_with(".localhost") || is_address(name)) return true;
  return std::ranges::any_of(names_,
                             [&](const std::string& pattern) { return matches(pattern, name); });
}

Status check_host(const OwnHosts& own, std::string_view host) {
  if (host.empty())
    return fail(ErrorCode::kInvalidArgument, "the request has no Host", "HTTP/1.1 asks for it");
  if (own.has(host)) return {};
  return fail(
      ErrorCode::kPermissionDenied, fmt::format("this controller is not '{}'", bare_name(host)),
      "ask by its address or its own name, or list that one in MusterHttpHosts in slurm.conf");
}

Status check_origin(Method method, const RequestOrigin& from) {
  // Reading changes nothing: only what writes is judged by its page.
  if (method == Method::kGet) return {};
  // Old browsers and programs send none: those are judged by Origin alone.
  const bool is_own_page =
      from.fetch_site.empty() || from.fetch_site == "same-origin" || from.fetch_site == "none";
  const bool is_own_origin =
      from.origin.empty() || lower(host_of_origin(from.origin)) == lower(from.host);
  if (!is_own_page || !is_own_origin) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("a page of another origin ({}) changes nothing here",
                            from.origin.empty() ? from.fetch_site : from.origin),
                "ask from a page of the controller's own, or from a program");
  }
  // A cookie goes wherever the browser is sent: one of the two headers shows that a program meant
  // it.
  if (!from.is_by_cookie || is_json(from.content_type) || from.has_request_header) return {};
  return fail(ErrorCode::kPermissionDenied, "a cookie alone changes nothing",
              "send Content-Type: application/json or X-Muster-Request: 1 with it");
}

std::vector<std::string> names_in_hosts_file(std::string_view text, std::string_view host) {
  std::vector<std::string> names{std::string(host)};
  // Comments and other names of the same machine.
  for (const std::string_view whole : split(text, '\n')) {
    std::string line(whole.substr(0, std::min(whole.find('#'), whole.size())));
    std::ranges::replace(line, '\t', ' ');
    const std::vector<std::string> words = split_list(line, ' ');
    if (words.size() < 2 || std::ranges::find(words.begin() + 1, words.end(), host) == words.end())
      continue;
    names.insert(names.end(), words.begin() + 1, words.end());
  }
  return names;
}

}  // namespace muster::api
