// What stands around a job that nobody submitted from a shell.
#pragma once

#include <string>

#include "api/http/api_port.h"
#include "trials/service_text.h"

namespace muster::api {

/// The user's home as its folder. `command`: what squeue shows of it.
std::shared_ptr<JobSpec> plain_job(const UserAccount& user, std::string_view command);
/// A login's variables, and none of anybody's own: NUL-separated NAME=VALUE.
std::string plain_environment(const UserAccount& user, const std::string& name);

/// One task that serves, once, and writes nowhere: what goes wrong it tells the controller. Of
/// `like` are folder, limits and place.
std::shared_ptr<JobSpec> service_job(const JobSpec& like, ServiceKind kind);

}  // namespace muster::api
