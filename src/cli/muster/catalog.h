// Functions that the commands about catalog entries share: models, workspaces, projects, templates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/lib/session.h"
#include "model/catalog_names.h"

namespace muster::cli {

/// Returns all documents of a kind.
Result<std::vector<Document>> documents(Session& session, DocumentKind kind);

/// Finds a document by its name, or else by its number. `parent`: within it; 0: anywhere. Errors:
/// kNotFound; `command` says where they are listed.
Result<Document> find_document(Session& session, DocumentKind kind, std::uint32_t parent,
                               const std::string& name, std::string_view command);

/// Sends one request. Returns its reply, or what went wrong.
Result<Reply> done(Session& session, const Request& request);

/// Deletes what was found, or prints why not. Returns the command's exit code.
int delete_found(const Console& console, Session& session, const Result<Document>& found);

}  // namespace muster::cli
