// Files of checkpoints removed by patterns: by jobs of their owners', which report what is left.
// The files lie in the experiments' storage, to which only their owners' jobs have access: a
// request becomes a job for each experiment, and its report is the change of the checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "access/experiment_access.h"
#include "api/determined/owner_job.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "platform/requests/collection.h"
#include "text/json_reader.h"
#include "text/words.h"
#include "trials/trial_text.h"

namespace muster::api {
namespace {

// Each checkpoint is part of a job's environment, which has a bound.
constexpr std::size_t kCheckpointsMax = 1000;

struct Wish {
  std::vector<std::string> uuids;
  std::vector<std::string> globs;
};

/// A pattern stays in the checkpoint.
bool is_inside(std::string_view glob) {
  return !glob.empty() && glob.front() != '/' &&
         std::ranges::none_of(split(glob, '/'), [](std::string_view part) { return part == ".."; });
}

Result<Wish> wish_of(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  TRY(check_text_lists(body, {"checkpointUuids", "checkpointGlobs"}));
  Wish wish;
  wish.uuids = texts_field(body, "checkpointUuids").value_or(std::vector<std::string>());
  wish.globs = texts_field(body, "checkpointGlobs").value_or(std::vector<std::string>());
  if (wish.uuids.empty() || wish.uuids.size() > kCheckpointsMax)
    return fail(wrong(fmt::format("checkpointUuids: name 1 to {} checkpoints", kCheckpointsMax)));
  for (const std::string& glob : wish.globs) {
    if (!is_inside(glob))
      return fail(wrong(fmt::format("checkpointGlobs: '{}' leads out of the checkpoint", glob)));
  }
  return wish;
}

/// What one experiment's job has to do.
struct Work {
  ExperimentSpecRef spec;
  Json::Array checkpoints;
};
using WorkByExperiment = std::map<ExperimentId, Work>;

/// A checkpoint whose files may go. Errors: kNotFound, kPermissionDenied, kFailedPrecondition.
Result<const Experiment*> removable(const ClusterState& state,
                                    const requests::ProtectedCheckpoints& keeper,
                                    const std::string& uuid, const Caller& caller,
                                    bool is_removal) {
  const CheckpointRef known = state.checkpoints().find(uuid);
  if (known == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
  const Experiment* experiment = TRY(
      access::find_own(state, state.experiments().find(known->trial)->experiment, caller.identity));
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kFailedPrecondition, fmt::format("checkpoint {} {}", uuid, why), "");
  };
  if (state.checkpoints().is_going(uuid)) return refuse("is being deleted");
  if (known->state == CheckpointState::kDeleted) return refuse("was deleted");
  if (known->state == CheckpointState::kActive) return refuse("is still being written");
  // To look which files are there changes nothing, and is allowed of every checkpoint.
  const auto kept = is_removal ? keeper.because(*known) : std::nullopt;
  if (kept) return refuse(*kept);
  return experiment;
}

Result<WorkByExperiment> work_of(const ClusterState& state, const Wish& wish,
                                 const Caller& caller) {
  // One walk over what keeps checkpoints, for all of the request.
  const requests::ProtectedCheckpoints keeper(state);
  WorkByExperiment all;
  for (const std::string& uuid : wish.uuids) {
    const Experiment* experiment = TRY(removable(state, keeper, uuid, caller, !wish.globs.empty()));
    TRY(requests::check_reachable(*experiment));
    const Checkpoint& known = *state.checkpoints().find(uuid);
    // One job for an experiment: all its checkpoints lie in one storage.
    Work& work = all[experiment->id];
    work.spec = experiment->spec;
    Json one = checkpoint_wish(*experiment->spec, known.trial, uuid);
    one.member("resources") = TRY(parse_json(known.resources));
    work.checkpoints.push_back(std::move(one));
  }
  return all;
}

kj::Promise<HttpReply> submit_all(ApiPort& port, const Caller& caller, const Wish& wish,
                                  WorkByExperiment all) {
  Json::Array globs;
  for (const std::string& glob : wish.globs) globs.emplace_back(glob);
  // All at once: each job is another owner's or another experiment's.
  auto jobs = kj::heapArrayBuilder<kj::Promise<Result<JobId>>>(all.size());
  for (auto& [id, work] : all) {
    OwnerJob job{ServiceKind::kCheckpointFiles,
                 work.spec,
                 {},
                 checkpoint_root(*work.spec) + "/collection.log"};
    job.wish = Json::Object{{"kind", "checkpoint_files"},
                            {"globs", globs},
                            {"checkpoints", std::move(work.checkpoints)}};
    jobs.add(submit_for_owner(port, acting_for_owner(caller, *work.spec), std::move(job)));
  }
  // Submitted, not done: the jobs report what is left as they finish.
  return kj::joinPromises(jobs.finish()).then([](kj::Array<Result<JobId>> ids) -> HttpReply {
    // The first refusal stands for all; jobs that were submitted go on.
    for (const Result<JobId>& id : ids) {
      if (!id.has_value()) return error_reply(id.error());
    }
    return empty_reply();
  });
}

kj::Promise<HttpReply> remove_files(ApiPort& port, HttpRequest request) {
  auto wish = wish_of(request);
  if (!wish.has_value()) return error_reply(wish.error());
  return look<WorkByExperiment>(port, request.caller,
                                [wish = *wish, caller = request.caller](const ClusterState& state) {
                                  return work_of(state, wish, caller);
                                })
      .then([&port, caller = request.caller,
             wish = *wish](Result<WorkByExperiment> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return submit_all(port, caller, wish, std::move(all).value());
      });
}

}  // namespace

void add_checkpoint_file_routes(Router& router) {
  router.add(Method::kPost, "/api/v1/checkpoints/rm",
             "Remove files of checkpoints by patterns; without any, look which are there",
             remove_files);
}

}  // namespace muster::api
