// Describes what HTTP serves, as an OpenAPI 3 document.
#pragma once

#include <string>

#include "api/http/router.h"
#include "model/json.h"

namespace muster::api {

Json openapi_document(const Router& router, const std::string& version);

}  // namespace muster::api
