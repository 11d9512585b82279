// What of HTTP needs no controller: targets, routes, bodies, errors, code.
#include <gtest/gtest.h>

#include <cmath>

#include "api/determined/code_archive.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/openapi.h"
#include "api/http/replies.h"
#include "api/http_service.h"
#include "text/base64.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "trials/determined_text.h"
#include "trials/trial_text.h"

namespace muster::api {
namespace {

TEST(Target, IsSplitAndDecoded) {
  const auto request = parse_target("/api/v1/models/a%2Fb%20c/?x=1&x=2&name=a+b%26&empty=&flag");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "/api/v1/models/a/b c");
  EXPECT_EQ(request->parameters("x"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(request->parameter("x"), "2");
  EXPECT_EQ(request->parameter("name"), "a b&");
  EXPECT_TRUE(request->has("empty") && request->has("flag") && !request->has("none"));
  for (const char* target : {"", "x", "/a%2", "/a%zz", "/a?x=%"})
    EXPECT_FALSE(parse_target(target).has_value()) << target;
}

TEST(Router, FindsByMethodAndPath) {
  const Router router = make_router();
  const auto find = [&](Method method, const char* path) {
    HttpRequest request = parse_target(path).value();
    request.method = method;
    bool is_known = false;
    const Route* route = router.find(request, is_known);
    return std::tuple(route == nullptr ? "" : route->pattern, request.arguments, is_known);
  };
  using Arguments = std::vector<std::string>;
  EXPECT_EQ(find(Method::kGet, "/api/v1/trials/7"),
            std::tuple(std::string("/api/v1/trials/{trial}"), Arguments{"7"}, false));
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials/time-series")),
            "/api/v1/trials/time-series");
  EXPECT_EQ(std::get<1>(find(Method::kGet, "/api/v1/models/m/versions/3")), (Arguments{"m", "3"}));
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials/7/kill")), "");
  EXPECT_TRUE(std::get<2>(find(Method::kGet, "/api/v1/trials/7/kill"))) << "with another method";
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials//")), "")
      << "an empty part is no argument";
}

TEST(Router, NoRouteHidesAnother) {
  const Router router = make_router();
  for (const Route& route : router.routes()) {
    HttpRequest request;
    request.method = route.method;
    request.path = route.pattern;
    bool is_known = false;
    const Route* found = router.find(request, is_known);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->pattern, route.pattern);
  }
}

TEST(OpenApi, HasEveryRoute) {
  const Router router = make_router();
  const Json document = openapi_document(router, "1");
  std::size_t operations = 0;
  for (const Json::Member& path : *document.find("paths")->object())
    operations += path.value.object()->size();
  EXPECT_EQ(operations, router.routes().size());
}

TEST(Fields, AreReadInEitherSpelling) {
  HttpRequest request;
  request.bytes =
      R"({"stepsCompleted": "12", "trial_run_id": 3, "note": null, "labels": ["a", 1, "b"], "ids": [1, 0]})";
  const Json body = body_of(request).value();
  EXPECT_EQ(whole_field(body, "stepsCompleted"), 12);
  EXPECT_EQ(whole_field(body, "trialRunId"), 3);
  EXPECT_EQ(field(body, "note"), nullptr);
  EXPECT_EQ(texts_field(body, "labels"), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(ids_field(body, "ids").has_value());
  for (const char* text :
       {"1e300", "-1e300", "9223372036854775808", "\"x\"", "\"9223372036854775808\"", "[]"}) {
    EXPECT_EQ(whole_of(parse_json(text).value()), std::nullopt)
        << text << " is beyond 64 bits, or no number";
  }
  for (const char* text : {"[]", "1", "{"}) {
    request.bytes = text;
    EXPECT_FALSE(body_of(request).has_value()) << text;
  }
  for (const char* text : {"", "0", "-1", "x", "1x", "4294967296"})
    EXPECT_FALSE(parse_id(text, "a trial").has_value()) << text;
}

TEST(Fields, AnIdIsNotCutToItsLastBits) {
  const auto read = [](const char* text) {
    return id_field(parse_json(text).value(), "projectId");
  };
  EXPECT_EQ(read(R"({"projectId": 7})").value(), 7U);
  EXPECT_EQ(read(R"({"project_id": "4294967295"})").value(), 4294967295U);
  for (const char* text : {"{}", R"({"projectId": null})", R"({"projectId": 0})"})
    EXPECT_EQ(read(text).value(), std::nullopt) << text;
  for (const char* text :
       {R"({"projectId": 4294967297})", R"({"projectId": -1})", R"({"projectId": "x"})"})
    EXPECT_FALSE(read(text).has_value()) << text;
  EXPECT_EQ(id_parameter(parse_target("/?projectId=3").value(), "projectId").value(), 3U);
  EXPECT_EQ(id_parameter(parse_target("/").value(), "projectId").value(), 0U);
  EXPECT_FALSE(
      id_parameter(parse_target("/?projectId=4294967299").value(), "projectId").has_value());
}

TEST(Router, ParametersThatNobodyReadsAreRefused) {
  const Router router = make_router();
  const auto check = [&](const char* target) {
    HttpRequest request = parse_target(target).value();
    bool is_known = false;
    const Status checked = check_parameters(*router.find(request, is_known), request);
    return checked.has_value() ? "" : checked.error().text();
  };
  EXPECT_EQ(check("/api/v1/trials/7/"
                  "checkpoints?sortByAttr=SORT_BY_UUID&limit=1&offset=2&states=STATE_ACTIVE"),
            "");
  EXPECT_NE(check("/api/v1/trials/7/checkpoints?sortBy=SORT_BY_UUID")
                .find("has no parameter 'sortBy': it takes sortByAttr, "),
            std::string::npos);
  EXPECT_NE(check("/api/v1/trials/7?x=1").find("it takes none"), std::string::npos);
}

// ---- order of lists ----

std::string sorted(const char* target) {
  struct Item {
    char name;
    int rank;
    std::optional<double> value;
  };
  std::vector<Item> items{
      {'a', 2, 0.5}, {'b', 1, std::nullopt}, {'c', 2, -1}, {'d', 1, std::nan("")}, {'e', 1, 3}};
  const Status status =
      sort_list<Item>(parse_target(target).value(), items,
                      {sort_key<Item>("RANK", [](const Item& one) { return one.rank; }),
                       number_key<Item>("VALUE", [](const Item& one) { return one.value; })});
  if (!status.has_value()) return status.error().text();
  std::string names;
  for (const Item& one : items) names += one.name;
  return names;
}

TEST(ListOrder, IsWhatIsAskedFor) {
  EXPECT_EQ(sorted("/"), "abcde");
  EXPECT_EQ(sorted("/?sortBy=SORT_BY_UNSPECIFIED&orderBy=ORDER_BY_UNSPECIFIED"), "abcde");
  EXPECT_EQ(sorted("/?orderBy=ORDER_BY_DESC"), "edcba");
  EXPECT_EQ(sorted("/?sortBy=RANK"), "bdeac");
  EXPECT_EQ(sorted("/?sortBy=RANK&orderBy=ORDER_BY_DESC"), "acbde")
      << "equal ones stay as they were";
  EXPECT_EQ(sorted("/?sortBy=VALUE&orderBy=ORDER_BY_ASC"), "caebd") << "what has no number is last";
  EXPECT_EQ(sorted("/?sortBy=VALUE&orderBy=ORDER_BY_DESC"), "eacbd");
  EXPECT_EQ(sorted("/?sortBy=NAME"), "sortBy: 'NAME' is not there: give one of RANK, VALUE");
  EXPECT_EQ(sorted("/?orderBy=down"),
            "orderBy: 'down' is not there: give one of ORDER_BY_ASC, ORDER_BY_DESC");
}

TEST(Replies, PagesEndWhereTheyEnd) {
  const auto window = [](const char* target, std::size_t total) {
    const PageWindow found = window_of(parse_target(target).value(), total).value();
    return std::pair(found.begin, found.end);
  };
  using Range = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(window("/?limit=2&offset=1", 5), Range(1, 3));
  EXPECT_EQ(window("/", 5), Range(0, 5));
  EXPECT_EQ(window("/?offset=9", 5), Range(5, 5));
  EXPECT_EQ(window("/?offset=-2", 5), Range(3, 5));
  EXPECT_EQ(window("/?limit=-1", 5), Range(0, 5));
  EXPECT_EQ(window("/?offset=-9223372036854775808", 5), Range(0, 5));
  EXPECT_FALSE(window_of(parse_target("/?limit=x").value(), 5).has_value());
}

TEST(Replies, ErrorsHaveTheStatusOfTheirCode) {
  EXPECT_EQ(error_reply({ErrorCode::kNotFound, "no", ""}).status, 404U);
  EXPECT_EQ(error_reply({ErrorCode::kUnimplemented, "no", ""}).status, 501U);
  EXPECT_EQ(error_reply({ErrorCode::kFailedPrecondition, "no", "way out"}).body,
            R"({"error": {"code": 9, "reason": "FailedPrecondition", "error": "no: way out"}})");
  EXPECT_EQ(unauthenticated_reply("who").status, 401U);
}

Json file_item(const char* path, std::string_view content, int type = 48) {
  return Json::Object{{"path", path},
                      {"type", type},
                      {"content", base64_text(content)},
                      {"mode", 33188},
                      {"mtime", "1795347451"}};
}

TEST(CodeArchive, IsInTheScriptAsItWasSent) {
  const Json files = Json::Array{file_item("train.py", "print(1)\n"), file_item("lib", "", 53),
                                 file_item("lib/a.bin", std::string(70'000, 'x'))};
  const std::string archive = archive_of(files).value();
  EXPECT_EQ(archive, archive_of(files).value()) << "equal code has equal bytes";
  EXPECT_TRUE(archive.starts_with("\x1f\x8b"));
  const std::string script = trial_script(archive);
  EXPECT_EQ(archive_in(script), archive);
  EXPECT_EQ(archive_text(script).value(), base64_text(archive));
  EXPECT_EQ(archive_in(trial_script("")), "");
}

TEST(CodeArchive, RefusesWhatLeadsOut) {
  for (const char* path : {"../x", "/etc/passwd", "a/../../b", ""}) {
    EXPECT_FALSE(archive_of(Json::Array{file_item(path, "x")}).has_value()) << path;
  }
  EXPECT_FALSE(archive_of(Json::Array{file_item("link", "x", 50)}).has_value());
  EXPECT_FALSE(archive_of(Json("x")).has_value());
  EXPECT_TRUE(archive_of(Json::Array{file_item("..a/b..", "x")}).has_value());
}

TEST(TaskNames, AreReadBack) {
  const std::string cluster = "774aef9f-d754-42e0-8ca0-aee09bf1ed9d";
  const std::string task = task_name(cluster, ExperimentId(3), TrialId(4'000'000'000));
  EXPECT_EQ(task.substr(0, 2), "3.");
  EXPECT_EQ(task.size(), 2U + 36U);
  EXPECT_EQ(parse_task_name(task)->trial, TrialId(4'000'000'000));
  const std::string allocation = allocation_name(cluster, ExperimentId(3), TrialId(9), 12);
  EXPECT_EQ(parse_task_name(allocation)->trial, TrialId(9));
  EXPECT_EQ(parse_task_name(allocation)->run, 12U);
  EXPECT_NE(task_name("another", ExperimentId(3), TrialId(9)),
            task_name(cluster, ExperimentId(3), TrialId(9)));
  for (const std::string& text :
       {std::string(), std::string("3"), std::string("3.x"), allocation + "x", allocation + ".1",
        task.substr(0, 26) + "0001ffffffff"}) {
    EXPECT_FALSE(parse_task_name(text).has_value()) << text;
  }
}

TEST(Places, FollowTheLabels) {
  Catalog catalog;
  const auto put = [&](DocumentKind kind, std::uint32_t id, std::uint32_t parent,
                       const char* name) {
    Document document;
    document.kind = kind;
    document.id = id;
    document.parent = parent;
    document.name = name;
    catalog.put(std::make_shared<const Document>(document));
  };
  put(DocumentKind::kWorkspace, 1, 0, "w");
  put(DocumentKind::kProject, 1, 1, "p");
  ExperimentLabels labels;
  EXPECT_EQ(workspace_ids_of(catalog, labels).project, kFirstWorkspaceId);
  labels.workspace = "w";
  labels.project = "p";
  EXPECT_EQ(workspace_ids_of(catalog, labels).workspace, 2U);
  EXPECT_EQ(workspace_ids_of(catalog, labels).project, 2U);
  labels.workspace = "gone";
  EXPECT_EQ(workspace_ids_of(catalog, labels).workspace, kFirstWorkspaceId);
}

}  // namespace
}  // namespace muster::api
