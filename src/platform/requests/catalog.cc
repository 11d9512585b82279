// Documents are what people and scripts store beside trials: models and versions, workspaces,
// projects, templates, notes on runs. One request stores, one deletes; what differs by kind stands
// in the small functions above them.
#include "platform/requests/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "access/experiment_access.h"
#include "admission/text_limits.h"
#include "model/catalog_names.h"
#include "trials/collection_text.h"

namespace muster::requests {
namespace {

Error is_missing(DocumentKind kind, std::uint32_t id) {
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no {} {}", kind_name(kind), shown_id(kind, id)), ""};
}

/// The trial of which it is kept; 0: of none.
TrialId trial_of(const Document& document) {
  if (document.kind == DocumentKind::kRunMetadata) return TrialId(document.id);
  return document.kind == DocumentKind::kCheckpointUse ? TrialId(document.parent) : TrialId();
}

/// What is found by its name or its number must not have a number as its name, and what stands in
/// an address no slash.
Status check_new_name(const Document& document) {
  TRY(admission::check_name("name", document.name));
  if (document.kind == DocumentKind::kModelVersion || trial_of(document).value() != 0) return {};
  if (document.kind == DocumentKind::kWorkspace && document.name == kUncategorized) {
    return fail(ErrorCode::kAlreadyExists,
                fmt::format("there is a workspace named {} already", kUncategorized), "");
  }
  if (document.name.find('/') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: a name has no slash", document.name),
                "");
  const bool is_number =
      std::ranges::all_of(document.name, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!is_number || document.name.empty() || document.kind == DocumentKind::kTemplate) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: a {} is also found by its number", document.name, kind_name(document.kind)),
      "give it a name with a letter");
}

/// What has a kind above it has that as its parent.
std::optional<DocumentKind> parent_kind(DocumentKind kind) {
  if (kind == DocumentKind::kModelVersion) return DocumentKind::kModel;
  if (kind == DocumentKind::kProject) return DocumentKind::kWorkspace;
  return std::nullopt;
}

bool may_change(const Document& document, const Identity& identity) {
  return identity.is_operator || document.user == identity.user;
}

/// Also a version of another's model that names a checkpoint of the user's, which could not be
// Otherwise anybody could keep another's checkpoint alive by registering it.
/// deleted as long as it does.
bool may_delete(const ClusterState& state, const Document& document, const Identity& identity) {
  if (may_change(document, identity)) return true;
  return std::ranges::any_of(document.checkpoints, [&](const std::string& uuid) {
    const CheckpointRef checkpoint = state.checkpoints().find(uuid);
    const Trial* trial =
        checkpoint == nullptr ? nullptr : state.experiments().find(checkpoint->trial);
    return trial != nullptr && access::find_own(state, trial->experiment, identity).has_value();
  });
}

/// What is kept of a trial is its owner's to change, whoever stored it first.
Status check_trial(const Draft& draft, const Document& document, const Identity& identity) {
  // These two belong to a trial and are stored by its scripts.
  const bool is_trials =
      document.kind == DocumentKind::kRunMetadata || document.kind == DocumentKind::kCheckpointUse;
  if (!is_trials) return {};
  const TrialId id = trial_of(document);
  const Trial* trial = draft.state().experiments().find(id);
  if (trial == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), "");
  const auto own = access::find_own(draft.state(), trial->experiment, identity);
  return own.has_value() ? Status() : fail(own.error());
}

Status check_names(const Draft& draft, const Document& document) {
  const Catalog& catalog = draft.state().catalog();
  const bool has_name =
      document.kind != DocumentKind::kModelVersion && document.kind != DocumentKind::kRunMetadata;
  if (has_name && document.name.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a {} needs a name", kind_name(document.kind)), "");
  }
  const DocumentRef twin =
      has_name ? catalog.find(document.kind, document.parent, document.name) : nullptr;
  if (twin != nullptr && twin->id != document.id) {
    return fail(
        ErrorCode::kAlreadyExists,
        fmt::format("there is a {} named {} already", kind_name(document.kind), document.name),
        "choose another name");
  }
  // A version's number, unlike its name, is one of its model's.
  if (document.kind != DocumentKind::kModelVersion) return {};
  for (const DocumentRef& one : draft.state().catalog().all(document.kind, document.parent)) {
    if (one->number != document.number || one->id == document.id) continue;
    return fail(ErrorCode::kAlreadyExists,
                fmt::format("there is a version {} of the model already", document.number), "");
  }
  return {};
}

Status check_references(const Draft& draft, const Document& document) {
  if (const auto above = parent_kind(document.kind);
      above && draft.state().catalog().find(*above, document.parent) == nullptr) {
    return fail(is_missing(*above, document.parent));
  }
  if (document.kind == DocumentKind::kCheckpointUse) {
    const CheckpointRef used =
        draft.state().checkpoints().find(std::string(used_checkpoint(document.name)));
    if (used == nullptr)
      return fail(ErrorCode::kNotFound,
                  fmt::format("there is no checkpoint {}", used_checkpoint(document.name)), "");
    if (used->state == CheckpointState::kDeleted)
      return fail(ErrorCode::kFailedPrecondition,
                  fmt::format("checkpoint {} was deleted", used->uuid), "");
  }
  for (const std::string& uuid : document.checkpoints) {
    const CheckpointRef checkpoint = draft.state().checkpoints().find(uuid);
    if (checkpoint == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
    // A version promises files that are there: neither torn nor on their way out.
    if (checkpoint->state != CheckpointState::kCompleted ||
        draft.state().checkpoints().is_going(uuid)) {
      return fail(ErrorCode::kFailedPrecondition, fmt::format("checkpoint {} is not whole", uuid),
                  "only a completed checkpoint can be registered");
    }
  }
  return {};
}

/// Rising, and after the last was deleted given again.
std::uint32_t next_number(const Draft& draft, const Document& document) {
  std::uint32_t number = 0;
  for (const DocumentRef& one : draft.state().catalog().all(document.kind, document.parent))
    number = std::max(number, one->number);
  return number + 1;
}

/// A trial's use of a checkpoint is told again, with more or other words. 0: it is told for the
/// first time.
std::uint32_t known_use(const Draft& draft, const Document& use) {
  const DocumentRef known = draft.state().catalog().find(use.kind, use.parent, use.name);
  return known == nullptr ? 0 : known->id;
}

/// Of the user who asks, as of the time at which it is asked.
Result<Document> completed(Draft& draft, const StoreDocument& store, const Identity& identity) {
  Document document = store.document;
  if (store.is_import && !identity.is_operator) return fail(access::not_allowed());
  // Imports keep the times of where they come from.
  if (!store.is_import) document.change_time = draft.now();
  if (document.kind == DocumentKind::kCheckpointUse) document.id = known_use(draft, document);
  const DocumentRef known =
      document.id == 0 ? nullptr : draft.state().catalog().find(document.kind, document.id);
  if (known != nullptr) {
    const bool is_trials =
        trial_of(document).value() != 0;  // the trial's owner may, whoever stored it first
    if (!is_trials && !may_change(*known, identity)) return fail(access::not_allowed());
    // Optimistic: who changes what he read names when that was changed last. Unset: whatever it is.
    const TimePoint basis = store.document.change_time;
    if (!store.is_import && basis.is_set() && basis != known->change_time) {
      return fail(ErrorCode::kConflict, fmt::format("{} was changed meanwhile", known->name),
                  "read it again");
    }
    // The time says which version a client has read: no two have the same.
    if (!store.is_import)
      document.change_time =
          std::max(document.change_time, known->change_time + Duration::microseconds(1));
    // Owner and beginning stay, whoever changes it.
    document.user = known->user;
    document.user_name = known->user_name;
    document.create_time = known->create_time;
    document.parent = store.document.parent == 0 ? known->parent : store.document.parent;
    document.number = known->number;
    return document;
  }
  const DocumentRef model =
      document.kind == DocumentKind::kModelVersion
          ? draft.state().catalog().find(DocumentKind::kModel, document.parent)
          : nullptr;
  // A version is its model owner's to add.
  if (model != nullptr && !may_change(*model, identity)) return fail(access::not_allowed());
  const bool brings_id = document.kind == DocumentKind::kRunMetadata;
  // An id from outside names what is there; new ones are allotted in the draft. Metadata of a run
  // goes by its trial's id.
  if (document.id != 0 && !brings_id) return fail(is_missing(document.kind, document.id));
  if (!brings_id) document.id = draft.allot_document(document.kind);
  const bool keeps_number = store.is_import && document.number != 0;
  if (document.kind == DocumentKind::kModelVersion && !keeps_number)
    document.number = next_number(draft, document);
  if (store.is_import) return document;
  document.user = identity.user;
  document.create_time = draft.now();
  return document;
}

/// Experiments name the place that they stand in: they follow when it is called otherwise.
void rename_entry(Draft& draft, const Document& known, const std::string& name) {
  const bool is_workspace = known.kind == DocumentKind::kWorkspace;
  const std::string workspace =
      is_workspace ? known.name
                   : draft.state().catalog().find(DocumentKind::kWorkspace, known.parent)->name;
  // Experiments hold the names, not the numbers, of workspace and project: O(experiments), and
  // seldom.
  for (const auto& [id, experiment] : draft.state().experiments().experiments()) {
    if (experiment.labels.workspace != workspace ||
        (!is_workspace && experiment.labels.project != known.name))
      continue;
    ExperimentChanged change;
    change.experiment = id;
    change.labels = experiment.labels;
    (is_workspace ? change.labels->workspace : change.labels->project) = name;
    draft.add(std::move(change));
  }
}

}  // namespace

Reply record_run(Draft& draft, const RecordRun& note, const Identity& identity) {
  const auto trial = access::find_running(draft.state(), note.trial, note.run, identity);
  if (!trial.has_value()) return refused(trial.error());
  const JobRun& run = *draft.state().jobs().find((*trial)->job)->run;
  // Said twice is said once: repeats of a client cost no event.
  const bool is_known =
      note.note == RunSignal::kSession ? run.has_session : run.is_stop_acknowledged;
  if (!is_known) draft.add(RunSignalled{(*trial)->job, note.note});
  return {};
}

Reply record_checkpoint(Draft& draft, const RecordCheckpoint& note, const Identity& identity) {
  const Checkpoint& wanted = note.checkpoint;
  // The uuid becomes the name of a folder.
  if (!is_checkpoint_name(wanted.uuid)) {
    return refused({ErrorCode::kInvalidArgument,
                    fmt::format("'{}' is no uuid of a checkpoint", wanted.uuid),
                    "give letters, digits and hyphens"});
  }
  if (draft.state().checkpoints().is_going(wanted.uuid)) {
    return refused({ErrorCode::kFailedPrecondition,
                    fmt::format("checkpoint {} is being deleted", wanted.uuid), ""});
  }
  // A new one is for the present run to report; what is known may be changed by its owner.
  const CheckpointRef known = draft.state().checkpoints().find(wanted.uuid);
  if (known == nullptr) {
    if (const auto trial = access::find_running(draft.state(), wanted.trial, wanted.run, identity);
        !trial.has_value())
      return refused(trial.error());
  } else {
    if (known->trial != wanted.trial) {
      return refused({ErrorCode::kFailedPrecondition,
                      fmt::format("checkpoint {} is another trial's", wanted.uuid),
                      "give each checkpoint a uuid of its own"});
    }
    const Trial* trial = draft.state().experiments().find(known->trial);
    const auto own = access::find_own(draft.state(), trial->experiment, identity);
    if (!own.has_value()) return refused(own.error());
    // Equal in all: a repeat.
    if (*known == wanted) return {};
    if (!note.is_change && known->state != CheckpointState::kActive) {
      // A client whose answer was lost reports again.
      const bool is_repeat = known->state == wanted.state && known->resources == wanted.resources &&
                             known->metadata == wanted.metadata;
      if (is_repeat) return {};
      return refused({ErrorCode::kFailedPrecondition,
                      fmt::format("checkpoint {} was reported with other contents", wanted.uuid),
                      ""});
    }
    if (note.is_change && wanted.state == CheckpointState::kActive &&
        known->state != CheckpointState::kActive) {
      return refused({ErrorCode::kConflict,
                      fmt::format("checkpoint {} was finished meanwhile", wanted.uuid),
                      "read it again"});
    }
    const bool loses = wanted.state == CheckpointState::kDeleted ||
                       wanted.state == CheckpointState::kPartiallyDeleted;
    // Who loads that model version would find nothing.
    if (loses && draft.state().catalog().names_checkpoint(wanted.uuid)) {
      return refused({ErrorCode::kFailedPrecondition,
                      fmt::format("checkpoint {} is in the model registry", wanted.uuid),
                      "delete the model version that names it first"});
    }
    if (known->state == CheckpointState::kDeleted) {
      return refused({ErrorCode::kFailedPrecondition,
                      fmt::format("checkpoint {} was deleted", wanted.uuid), ""});
    }
  }
  draft.add(CheckpointRecorded{std::make_shared<const Checkpoint>(wanted)});
  return {};
}

Reply store_document(Draft& draft, const StoreDocument& store, const Identity& identity) {
  // Trials first: what is kept of a trial is not found by its document's owner.
  if (const Status owned = check_trial(draft, store.document, identity); !owned.has_value())
    return refused(owned.error());
  auto document = completed(draft, store, identity);
  if (!document.has_value()) return refused(document.error());
  // Imports may have names that we would not allow anew.
  if (!store.is_import) {
    const DocumentRef known = draft.state().catalog().find(document->kind, document->id);
    const bool is_named = known == nullptr || known->name != document->name;
    for (const Status& checked :
         {is_named ? check_new_name(*document) : Status(),
          admission::check_text(kind_name(document->kind), document->body)}) {
      if (!checked.has_value()) return refused(checked.error());
    }
  }
  for (const Status& checked :
       {check_names(draft, *document), check_references(draft, *document)}) {
    if (!checked.has_value()) return refused(checked.error());
  }
  const DocumentRef known = draft.state().catalog().find(document->kind, document->id);
  const bool is_entry =
      document->kind == DocumentKind::kWorkspace || document->kind == DocumentKind::kProject;
  if (is_entry && known != nullptr && known->name != document->name)
    rename_entry(draft, *known, document->name);
  Reply reply;
  reply.document = document->id;
  draft.add(DocumentStored{std::make_shared<const Document>(std::move(document).value())});
  return reply;
}

Reply delete_document(Draft& draft, const DeleteDocument& remove, const Identity& identity) {
  const Catalog& catalog = draft.state().catalog();
  const DocumentRef known = catalog.find(remove.kind, remove.id);
  if (known == nullptr) return refused(is_missing(remove.kind, remove.id));
  if (!may_delete(draft.state(), *known, identity)) return refused(access::not_allowed());
  // Versions go with their model. Projects do not go with their workspace: experiments stand in
  // them.
  for (const DocumentKind below : {DocumentKind::kModelVersion, DocumentKind::kProject}) {
    if (parent_kind(below) != remove.kind) continue;
    const auto children = catalog.all(below, remove.id);
    if (!children.empty() && below == DocumentKind::kProject) {
      return refused({ErrorCode::kFailedPrecondition,
                      fmt::format("workspace {} has projects", known->name), "delete them first"});
    }
    for (const DocumentRef& child : children) draft.add(DocumentDeleted{below, child->id});
  }
  draft.add(DocumentDeleted{remove.kind, remove.id});
  return {};
}

}  // namespace muster::requests
