// Journal rows: one batch of events as bytes, and back.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace muster::records {

/// Returns the bytes of a batch's row: number, epoch, events, and of each new blob id, digest and
/// size. The blobs' bytes have rows of their own, and `dead_blobs` is not recorded: applying the
/// events finds them again. Cost: O(size of the events).
std::string encode_batch(const EventBatch& batch);

/// Returns the batch, without blobs' bytes and `dead_blobs`. Errors: kCorruption when the bytes are
/// no batch, or one of a newer version (the detail names the kind of event).
Result<EventBatch> decode_batch(std::string_view bytes);

}  // namespace muster::records
