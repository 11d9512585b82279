// Validates what runs say of themselves and of their checkpoints, and what people store in the
// catalog.
#pragma once

#include "engine/draft.h"

namespace muster::requests {

/// Drafts RunSignalled, once. Errors: as find_running.
Reply record_run(Draft& draft, const RecordRun& note, const Identity& identity);

/// Records a checkpoint of a trial's present run, or a change of one that is known. A repeat
/// changes nothing. Errors: as find_running for a new one; kFailedPrecondition for another one
/// under a known uuid, for one that is deleted, and for one that the catalog names and that is to
/// be deleted.
Reply record_checkpoint(Draft& draft, const RecordCheckpoint& note, const Identity& identity);

/// Stores a new document (id 0), or a known one anew: where its change time is set, as a change of
/// what was changed then. The reply's `document` is its id. Errors: kNotFound for what it names;
/// kAlreadyExists for a name that its parent has; kPermissionDenied for another's; kConflict: it
/// was changed since.
Reply store_document(Draft& draft, const StoreDocument& store, const Identity& identity);
Reply delete_document(Draft& draft, const DeleteDocument& remove, const Identity& identity);

}  // namespace muster::requests
