// What handlers of the catalog share: stored, changed, deleted, and shown as they are afterwards.
// A change is made of what the replica has; the core refuses it where another change came in
// between, and it is made anew.

#include "api/determined/documents.h"

#include <fmt/format.h>

#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "model/catalog_names.h"
#include "text/json_reader.h"

namespace muster::api {

namespace {

using Show = std::function<Result<Json>(const ClusterState& state, const Document& document)>;

/// A change that another one came before is made again of what that left, so many times.
constexpr unsigned kTriesMax = 10;
constexpr kj::Duration kPause = 5 * kj::MILLISECONDS;

struct Change {
  ApiPort& port;
  Caller caller;
  std::function<Result<DocumentRef>(const ClusterState& state)> find;
  std::function<Status(Document& document)> change;
  Show show;
};

kj::Promise<std::vector<Reply>> submit(ApiPort& port, const Caller& caller, Document document) {
  std::vector<Request> requests;
  requests.emplace_back(StoreDocument{std::move(document)});
  return port.submit(caller, std::move(requests));
}

kj::Promise<HttpReply> show_stored(ApiPort& port, const Caller& caller, DocumentKind kind,
                                   const std::vector<Reply>& replies, Show show) {
  if (const auto error = error_of(replies)) return error_reply(*error);
  return look<Json>(port, caller,
                    [kind, id = replies.front().document,
                     // Read again, as the core may have added to it: numbers, times, names.
                     show = std::move(show)](const ClusterState& state) -> Result<Json> {
                      const DocumentRef stored = state.catalog().find(kind, id);
                      // Somebody else's request may have come between.
                      if (stored == nullptr)
                        return fail(ErrorCode::kNotFound, "it was deleted meanwhile", "");
                      return show(state, *stored);
                    })
      .then([](Result<Json> shown) {
        return shown.has_value() ? json_reply(*shown) : error_reply(shown.error());
      });
}

kj::Promise<HttpReply> try_change(std::shared_ptr<const Change> change, unsigned tries) {
  return look<DocumentRef>(change->port, change->caller, change->find)
      .then([change, tries](Result<DocumentRef> known) -> kj::Promise<HttpReply> {
        if (!known.has_value()) return error_reply(known.error());
        // A copy: the replica's document is shared by all who read.
        Document document = **known;
        if (const Status changed = change->change(document); !changed.has_value())
          return error_reply(changed.error());
        const DocumentKind kind = document.kind;
        return submit(change->port, change->caller, std::move(document))
            .then([change, tries, kind](std::vector<Reply> replies) -> kj::Promise<HttpReply> {
              const auto error = error_of(replies);
              // Only a conflict is worth another try: it means that what was changed is out of
              // date.
              if (!error || error->code != ErrorCode::kConflict || tries == kTriesMax) {
                return show_stored(change->port, change->caller, kind, replies, change->show);
              }
              // Longer each time, so that those who collide part ways.
              return change->port.timer().afterDelay(tries * kPause).then([change, tries] {
                return try_change(change, tries + 1);
              });
            });
      });
}

}  // namespace

kj::Promise<HttpReply> store_document(
    ApiPort& port, const Caller& caller, Document document,
    std::function<Result<Json>(const ClusterState& state, const Document& document)> show) {
  const DocumentKind kind = document.kind;
  return submit(port, caller, std::move(document))
      .then([&port, caller, kind, show = std::move(show)](std::vector<Reply> replies) mutable {
        return show_stored(port, caller, kind, replies, std::move(show));
      });
}

kj::Promise<HttpReply> change_document(
    ApiPort& port, const Caller& caller,
    std::function<Result<DocumentRef>(const ClusterState& state)> find,
    std::function<Status(Document& document)> change,
    std::function<Result<Json>(const ClusterState& state, const Document& document)> show) {
  return try_change(std::make_shared<const Change>(
                        Change{port, caller, std::move(find), std::move(change), std::move(show)}),
                    1);
}

kj::Promise<HttpReply> delete_document(
    ApiPort& port, const Caller& caller,
    std::function<Result<DocumentRef>(const ClusterState& state)> find) {
  return look<DocumentRef>(port, caller, std::move(find))
      .then([&port, caller](Result<DocumentRef> known) -> kj::Promise<HttpReply> {
        if (!known.has_value()) return error_reply(known.error());
        return submit_one(port, caller, DeleteDocument{(*known)->kind, (*known)->id});
      });
}

Json body_of(const Document& document) {
  auto json = parse_json(document.body);
  return json.has_value() && json->object() != nullptr ? std::move(json).value()
                                                       : Json(Json::Object{});
}

Result<DocumentRef> find_document(const ClusterState& state, DocumentKind kind,
                                  std::uint32_t parent, const std::string& id_or_name) {
  // By name first: a name may be digits.
  DocumentRef found = state.catalog().find(kind, parent, id_or_name);
  if (found == nullptr) {
    if (const auto id = parse_id(id_or_name, ""); id.has_value())
      found = state.catalog().find(kind, *id);
  }
  if (found != nullptr) return found;
  return fail(ErrorCode::kNotFound, fmt::format("there is no {} {}", kind_name(kind), id_or_name),
              "");
}

Result<DocumentRef> find_version(const ClusterState& state, const std::string& model_name,
                                 const std::string& number) {
  const DocumentRef model = TRY(find_document(state, DocumentKind::kModel, 0, model_name));
  for (DocumentRef& version : state.catalog().all(DocumentKind::kModelVersion, model->id)) {
    // By the number that users see, within its model.
    if (std::to_string(version->number) == number) return std::move(version);
  }
  return fail(ErrorCode::kNotFound, fmt::format("model {} has no version {}", model->name, number),
              "");
}

}  // namespace muster::api
