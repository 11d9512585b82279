// Journal rows: one batch of events as bytes, and back.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace muster::records {

/// The bytes of a batch's row. Blobs are not in them: they have rows of their own.
std::string encode_batch(const EventBatch& batch);

/// Errors: kCorruption when the bytes are no batch, or one of a newer version (the message names
/// the event kind).
Result<EventBatch> decode_batch(std::string_view bytes);

}  // namespace muster::records
