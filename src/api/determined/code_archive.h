// Converts the code of an experiment between the form that HTTP's clients send and a tar archive.
#pragma once

#include <string>

#include "base/result.h"
#include "model/json.h"

namespace muster::api {

/// Returns a gzip-compressed tar archive of a modelDefinition: [{path, type, content, mode,
/// mtime}], contents in base64. Paths are below the folder that is unpacked into. Errors:
/// kInvalidArgument: a path leads out of it, a content is damaged. Cost: some 25 ms a MiB: not for
/// the thread of HTTP.
Result<std::string> archive_of(const Json& model_definition);

/// Returns the archive in the script of the experiment's trials; empty: it has no code.
Result<std::string> archive_text(std::string_view script);

}  // namespace muster::api
