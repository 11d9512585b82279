// One place for every kind, so that a new kind of request is prepared whoever sends it.
#include "gateway/prepare.h"

#include "admission/filter_lists.h"
#include "admission/prepare_job.h"
#include "platform/config/prepare_experiment.h"

namespace muster {

Result<PreparedRequest> prepare(Request request, const Identity& identity, const CallerNames& names,
                                const ClusterSettings& settings, LastBlob& environments) {
  if (auto* submit = get_if<SubmitJob>(&request)) {
    return admission::prepare_submit(std::move(*submit), identity, names, settings, environments);
  }
  if (auto* create = get_if<CreateStep>(&request))
    return admission::prepare_step(std::move(*create), environments);
  if (auto* experiment = get_if<CreateExperiment>(&request)) {
    return PreparedRequest(
        TRY(prepare_experiment(std::move(*experiment), identity, names, environments)));
  }
  if (auto* cancel = get_if<CancelJobs>(&request)) TRY(sort_lists(cancel->filter));
  if (const auto* import = get_if<ImportExperiment>(&request))
    TRY(check_import(import->experiment));
  if (const auto* operate = get_if<OperateSearch>(&request)) TRY(check_operations(operate->input));
  // The name is the verified caller's, never the document's word.
  if (auto* store = get_if<StoreDocument>(&request); store != nullptr && !store->is_import)
    store->document.user_name = names.user;
  return visit(
      [](auto& other) -> Result<PreparedRequest> {
        using Kind = std::decay_t<decltype(other)>;
        if constexpr (std::is_same_v<Kind, SubmitJob> || std::is_same_v<Kind, CreateStep> ||
                      std::is_same_v<Kind, CreateExperiment> ||
                      std::is_same_v<Kind, ContinueExperiment>) {
          return fail(ErrorCode::kInternal, "prepared elsewhere");
        } else if constexpr (std::is_same_v<Kind, UpdateObject>) {
          return PreparedRequest(PreparedUpdate(std::move(other)));
        } else {
          return PreparedRequest(std::move(other));
        }
      },
      request);
}

}  // namespace muster
