// What a connection says to the controller's HTTP port, from the first byte on: parsing, the checks
// of the door, every handler. Seeds: each route with the bodies that it may have.
#include "fuzz/fuzz.h"
#include "fuzz/http_site.h"

namespace muster::fuzz {
namespace {

HttpSite& site() {
  static HttpSite one;
  return one;
}

/// What may stand in a route's braces.
std::string plausible(const std::string& name) {
  const bool is_uuid = name.find("uuid") != name.npos || name.find("checkpoint") != name.npos;
  return is_uuid ? "b8f635ed-7cca-46ec-86ec-000000000001" : "1";
}

constexpr std::string_view kBodies[] = {
    "",
    "{}",
    R"({"name":"x","description":"d","notes":"n","labels":["a"],"state":"ACTIVE","trialId":1,"experimentId":1})",
    R"({"config":"{name: s, entrypoint: t, searcher: {name: single, metric: loss}}","modelDefinition":[{"path":"a.py","type":48,"content":"eA==","mtime":"1","mode":420}],"activate":true})",
    R"({"metrics":{"trialId":1,"trialRunId":1,"stepsCompleted":10,"metrics":{"avgMetrics":{"loss":0.5},"batchMetrics":[]}}})",
    R"({"username":"alice","password":"x","isHashed":false})",
    R"({"uuid":"b8f635ed-7cca-46ec-86ec-000000000001","state":"STATE_COMPLETED","resources":{"a":"1"},"metadata":{"steps_completed":3},"training":{"trialId":1}})",
    R"({"script":"#!/bin/sh\ntrue","job":{"name":"j","current_working_directory":"/tmp","environment":["PATH=/bin"],"tasks":1}})"};

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  std::size_t number = 0;
  for (const api::Route& route : site().router().routes()) {
    for (const char* who : {"alice", "root"}) {
      const std::string_view body =
          route.method == api::Method::kGet || route.method == api::Method::kDelete
              ? ""
              : kBodies[++number % std::size(kBodies)];
      std::string request = std::string(name_of(route.method)) + " " +
                            filled(route.pattern, plausible) +
                            (number % 3 == 0 ? "?limit=10&offset=1&sortBy=SORT_BY_ID" : "") +
                            " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + who + "\r\n";
      if (!body.empty())
        request +=
            "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n";
      all.push_back(request + "\r\n" + std::string(body));
    }
  }
  all.push_back(
      "GET /proxy/1.b8f635ed-7cca-46ec-86ec-000000000001/a HTTP/1.1\r\nHost: localhost\r\nCookie: "
      "auth=alice; x=y\r\n\r\n");
  all.push_back(
      "POST /api/v1/experiments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
      "alice\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"con\r\n0\r\n\r\n");
  all.push_back(
      "OPTIONS / HTTP/1.1\r\nHost: evil\r\nOrigin: http://evil\r\nSec-Fetch-Site: "
      "cross-site\r\n\r\nGET /api/v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return all;
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)muster::fuzz::site().exchange(muster::fuzz::bytes_of(data, size));
  return 0;
}
