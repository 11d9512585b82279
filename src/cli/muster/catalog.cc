// What commands on models, workspaces, projects and templates share: all are documents of the
// catalog, found by name or by number.

#include "cli/muster/catalog.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::cli {

Result<std::vector<Document>> documents(Session& session, DocumentKind kind) {
  Query query;
  query.kind = QueryKind::kDocuments;
  query.document_kind = kind;
  Page page = TRY(session.query(query));
  return std::move(page.documents);
}

Result<Document> find_document(Session& session, DocumentKind kind, std::uint32_t parent,
                               const std::string& name, std::string_view command) {
  std::vector<Document> all = TRY(documents(session, kind));
  if (parent != 0) std::erase_if(all, [&](const Document& one) { return one.parent != parent; });
  auto found = std::ranges::find(all, name, &Document::name);
  // By name first: a name may look like a number.
  if (found == all.end())
    found = std::ranges::find_if(
        // As the number that users see, which differs from the id by kind.
        all, [&](const Document& one) { return std::to_string(shown_id(kind, one.id)) == name; });
  if (found != all.end()) return std::move(*found);
  return fail(ErrorCode::kNotFound, fmt::format("there is no {} {}", kind_name(kind), name),
              fmt::format("see {}", command));
}

Result<Reply> done(Session& session, const Request& request) {
  Reply reply = TRY(session.submit_one(request));
  if (reply.error) return fail(*reply.error);
  return reply;
}

int delete_found(const Console& console, Session& session, const Result<Document>& found) {
  if (!found.has_value()) return console.fail(found.error());
  // The workspace and project that always exist have the id 0.
  if (found->id == 0)
    return console.fail(
        {ErrorCode::kFailedPrecondition, fmt::format("{} cannot be deleted", found->name), ""});
  const auto reply = done(session, DeleteDocument{found->kind, found->id});
  return reply.has_value() ? 0 : console.fail(reply.error());
}

}  // namespace muster::cli
