// Digests are computed here, on the gateway's thread: the core only compares them.
#include "admission/caller.h"

#include "text/digest.h"

namespace muster {

PreparedBlob prepared_blob(Bytes bytes) {
  if (bytes == nullptr || bytes->empty()) return {};
  return PreparedBlob{sha256(*bytes), std::move(bytes)};
}

PreparedBlob LastBlob::prepared(Bytes bytes) {
  // Comparing bytes costs less than hashing them, and jobs of one user mostly have one environment.
  const bool is_known = bytes != nullptr && last_.bytes != nullptr && *bytes == *last_.bytes;
  if (is_known) return last_;
  PreparedBlob fresh = prepared_blob(std::move(bytes));
  if (fresh.bytes != nullptr) last_ = fresh;
  return fresh;
}

}  // namespace muster
