// Functions that handlers of catalog entries share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "api/http/replies.h"
#include "state/catalog.h"

namespace muster::api {

/// Stores a document and shows it as it is then.
kj::Promise<HttpReply> store_document(
    ApiPort& port, const Caller& caller, Document document,
    std::function<Result<Json>(const ClusterState& state, const Document& document)> show);

/// Finds a document and stores what `change` makes of it.
kj::Promise<HttpReply> change_document(
    ApiPort& port, const Caller& caller,
    std::function<Result<DocumentRef>(const ClusterState& state)> find,
    std::function<Status(Document& document)> change,
    std::function<Result<Json>(const ClusterState& state, const Document& document)> show);

kj::Promise<HttpReply> delete_document(
    ApiPort& port, const Caller& caller,
    std::function<Result<DocumentRef>(const ClusterState& state)> find);

/// Returns the body as an object.
Json body_of(const Document& document);
/// Finds a document by a number or a name. Errors: kNotFound.
Result<DocumentRef> find_document(const ClusterState& state, DocumentKind kind,
                                  std::uint32_t parent, const std::string& id_or_name);
/// Finds a version of a model by its number. Errors: kNotFound.
Result<DocumentRef> find_version(const ClusterState& state, const std::string& model,
                                 const std::string& number);

}  // namespace muster::api
