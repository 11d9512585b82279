#include "admission/caller.h"

#include "text/digest.h"

namespace muster {

PreparedBlob prepared_blob(Bytes bytes) {
  if (bytes == nullptr || bytes->empty()) return {};
  return PreparedBlob{sha256(*bytes), std::move(bytes)};
}

PreparedBlob LastBlob::prepared(Bytes bytes) {
  const bool is_known = bytes != nullptr && last_.bytes != nullptr && *bytes == *last_.bytes;
  if (is_known) return last_;
  PreparedBlob fresh = prepared_blob(std::move(bytes));
  if (fresh.bytes != nullptr) last_ = fresh;
  return fresh;
}

}  // namespace muster
