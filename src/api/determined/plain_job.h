// Makes the specifications of jobs that nobody submitted from a shell.
#pragma once

#include <string>

#include "api/http/api_port.h"
#include "trials/service_text.h"

namespace muster::api {

/// Returns a job in the user's home folder. `command`: what squeue shows of it.
std::shared_ptr<JobSpec> plain_job(const UserAccount& user, std::string_view command);
/// Returns the variables that a login sets, and none of anybody's own: NUL-separated NAME=VALUE.
std::string plain_environment(const UserAccount& user, const std::string& name);

/// Returns a job of one task that serves, runs once, and writes no output file: it reports its
/// failures to the controller. It gets the work folder, partitions, account, QOS, resource limits
/// and features of `like`.
std::shared_ptr<JobSpec> service_job(const JobSpec& like, ServiceKind kind);

}  // namespace muster::api
