#include "cli/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace muster::cli {

Result<std::vector<Document>> documents(Session& session, DocumentKind kind) {
  Query query;
  query.kind = QueryKind::kDocuments;
  query.document_kind = kind;
  Page page = TRY(session.query(query));
  return std::move(page.documents);
}

Result<Document> find_document(Session& session, DocumentKind kind, std::uint32_t parent, const std::string& name, std::string_view command) {
  std::vector<Document> all = TRY(documents(session, kind));
  if (parent != 0) std::erase_if(all, [&](const Document& one) { return one.parent != parent; });
  auto found = std::ranges::find(all, name, &Document::name);
  if (found == all.end()) found = std::ranges::find_if(all, [&](const Document& one) { return std::to_string(shown_id(one)) == name; });
  if (found != all.end()) return std::move(*found);
  constexpr std::array<std::string_view, 6> kNouns{"model", "model version", "workspace", "project", "template", "metadata"};
  return fail(ErrorCode::kNotFound, fmt::format("there is no {} {}", kNouns.at(static_cast<std::size_t>(kind)), name), fmt::format("see {}", command));
}

Result<Reply> done(Session& session, const Request& request) {
  Reply reply = TRY(session.submit_one(request));
  if (reply.error) return fail(*reply.error);
  return reply;
}

std::uint32_t shown_id(const Document& document) {
  const bool is_place = document.kind == DocumentKind::kWorkspace || document.kind == DocumentKind::kProject;
  return is_place ? document.id + 1 : document.id;
}

}  // namespace muster::cli
