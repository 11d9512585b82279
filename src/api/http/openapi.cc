// The routes as an OpenAPI document, read off the router: it says what is served, and no more.

#include "api/http/openapi.h"

namespace muster::api {
namespace {

std::string_view method_name(Method method) {
  switch (method) {
    case Method::kGet: return "get";
    case Method::kPost: return "post";
    case Method::kPut: return "put";
    case Method::kPatch: return "patch";
    case Method::kDelete: return "delete";
  }
  return "";
}

Json::Array parameters_of(const Route& route) {
  Json::Array places;
  for (const std::string& part : route.parts) {
    // A part in braces is a parameter in the path.
    if (!part.starts_with('{')) continue;
    places.emplace_back(Json::Object{{"name", part.substr(1, part.size() - 2)},
                                     {"in", "path"},
                                     {"required", true},
                                     {"schema", Json::Object{{"type", "string"}}}});
  }
  for (const std::string& name : route.parameters) {
    places.emplace_back(Json::Object{
        {"name", name}, {"in", "query"}, {"schema", Json::Object{{"type", "string"}}}});
  }
  return places;
}

Json operation(const Route& route) {
  // Bodies and replies have no schemas: the document lists paths, parameters and who may call.
  Json::Object answers{
      {"200", Json::Object{{"description", "Done"}}},
      {"default",
       Json::Object{{"description", "An error: {\"error\": {\"code\", \"reason\", \"error\"}}"}}}};
  Json::Object object{{"summary", route.summary},
                      {"parameters", parameters_of(route)},
                      {"responses", std::move(answers)}};
  // Open routes need no token; the document says so.
  if (route.is_open) object.push_back({"security", Json::Array{}});
  return object;
}

}  // namespace

Json openapi_document(const Router& router, const std::string& version) {
  Json paths = Json::Object{};
  for (const Route& route : router.routes())
    paths.member(route.pattern).member(method_name(route.method)) = operation(route);
  return Json::Object{
      {"openapi", "3.0.3"},
      {"info", Json::Object{{"title", "Muster"}, {"version", version}}},
      {"paths", std::move(paths)},
      // Either scheme will do: entries of the list are alternatives.
      {"security",
       Json::Array{Json::Object{{"user", Json::Array{}}}, Json::Object{{"task", Json::Array{}}}}},
      {"components",
       Json::Object{
           {"securitySchemes",
            Json::Object{{"user", Json::Object{{"type", "http"}, {"scheme", "bearer"}}},
                         {"task", Json::Object{{"type", "apiKey"},
                                               {"in", "header"},
                                               {"name", "Grpc-Metadata-x-allocation-token"}}}}}}}};
}

}  // namespace muster::api
