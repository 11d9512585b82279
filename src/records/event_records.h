// Events, batches and checkpointed objects as Cap'n Proto structs. See docs/internals/journal.md.
#pragma once

#include "model/event.h"
#include "records/model_records.h"
#include "schema/journal.capnp.h"

namespace muster::records {

DECLARE_RECORD(Event, schema::Event)

}  // namespace muster::records
