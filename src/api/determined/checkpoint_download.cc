// The files of a checkpoint, as an archive: read by a job of their owner's, where they lie, and
// handed on as they come. Nothing of them is kept here, nor are keys to where they are.
#include <fmt/format.h>

#include <array>

#include "access/experiment_access.h"
#include "api/determined/owner_job.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "api/services/upstream.h"
#include "trials/checkpoint_text.h"
#include "trials/service_script.h"

namespace muster::api {
namespace {

/// A job may wait in the queue for so long; whoever asked is told that it did.
constexpr Duration kTimeout = Duration::minutes(10);
constexpr kj::Duration kLookEvery = 150 * kj::MILLISECONDS;

struct Format {
  std::string_view type;
  std::string_view suffix;
};
constexpr std::array<Format, 3> kFormats{Format{"application/gzip", ".tgz"},
                                         Format{"application/x-tar", ".tar"},
                                         Format{"application/zip", ".zip"}};

/// What the client takes; without a word of that, a compressed tar file.
Result<Format> format_of(std::string_view accept) {
  for (const Format& format : kFormats) {
    // The first of ours that the client names: its preferences by q are not weighed.
    if (accept.find(format.type) != accept.npos) return format;
  }
  if (accept.empty() || accept.find("*/*") != accept.npos ||
      accept.find("application/*") != accept.npos)
    return kFormats.front();
  return fail(wrong(fmt::format(
      "Accept: {} is not served; take application/gzip, application/x-tar or application/zip",
      accept)));
}

/// A download under way. Its job ends with it: when the client leaves, whoever was to serve him is
/// not wanted any more.
struct Download {
  Download(ApiPort& of, Caller asking, Format wanted, std::string what, std::function<bool()> left)
      : port(of),
        caller(std::move(asking)),
        format(wanted),
        uuid(std::move(what)),
        has_left(std::move(left)),
        begin(of.now()) {}
  // Also when a reply breaks off half way: whatever drops the last reference ends the job.
  ~Download() noexcept {
    if (job.value() == 0 || is_done) return;
    CancelJobs cancel;
    cancel.filter.jobs.push_back({job, {}, false, {}});
    cancel.is_lenient = true;
    std::vector<Request> requests;
    requests.emplace_back(std::move(cancel));
    // Nobody waits for the answer, and a failure is seen where the job's own time limit ends it.
    port.submit(owner, std::move(requests)).ignoreResult().detach([](kj::Exception&&) {});
  }

  ApiPort& port;
  Caller caller;
  Caller owner;  ///< the caller, acting for whom the files belong to
  Format format;
  std::string uuid;
  std::function<bool()> has_left;
  TimePoint begin;
  ExperimentSpecRef spec;
  TrialId trial;
  JobId job;
  bool is_done = false;
};
using DownloadRef = std::shared_ptr<Download>;

struct Found {
  ExperimentSpecRef spec;
  TrialId trial;
};

Result<Found> find(const ClusterState& state, const std::string& uuid, const Caller& caller) {
  const CheckpointRef known = state.checkpoints().find(uuid);
  if (known == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
  const Trial& trial = *state.experiments().find(known->trial);
  // As the owner's own: files may hold what readers of the experiment must not see.
  const Experiment& experiment = *TRY(access::find_own(state, trial.experiment, caller.identity));
  const bool is_there = known->state == CheckpointState::kCompleted ||
                        known->state == CheckpointState::kPartiallyDeleted;
  // Files are there only of these two states, and not while a deletion works on them.
  if (!is_there || state.checkpoints().is_going(uuid)) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("checkpoint {} has no files to download", uuid),
                fmt::format("it is {}", state.checkpoints().is_going(uuid)
                                            ? "being deleted"
                                            : checkpoint_state_name(known->state)));
  }
  return Found{experiment.spec, known->trial};
}

kj::Promise<Result<JobId>> start(Download& download) {
  return submit_for_owner(
      download.port, download.owner,
      {ServiceKind::kCheckpoint, download.spec,
       // Its output goes nowhere: the reply is the download.
       checkpoint_wish(*download.spec, download.trial, download.uuid), "/dev/null"});
}

/// Until the job serves, says that it cannot, or has waited for too long.
kj::Promise<Result<ServiceAddress>> wait_ready(Download& download) {
  using Answer = Result<ServiceAddress>;
  // Looked at each time: the client may have left while the job waits in the queue.
  if (download.has_left && download.has_left())
    return Answer(fail(ErrorCode::kUnavailable, "the client has left", ""));
  return look<ServiceJob>(download.port, download.caller,
                          [cluster = download.port.settings().cluster_id,
                           job = download.job](const ClusterState& state) -> Result<ServiceJob> {
                            const Job* found = state.jobs().find(job);
                            if (found == nullptr)
                              return fail(ErrorCode::kNotFound,
                                          fmt::format("job {} is gone", job.value()), "");
                            return service_of(state, cluster, *found);
                          })
      .then([&download](Result<ServiceJob> service) -> kj::Promise<Answer> {
        if (!service.has_value()) return Answer(fail(service.error()));
        auto address = address_of(*service, download.port.services());
        // kUnavailable is "not yet"; every other answer is final.
        if (address.has_value() || address.error().code != ErrorCode::kUnavailable)
          return kj::mv(address);
        if (download.port.now() - download.begin > kTimeout) {
          return Answer(fail(ErrorCode::kDeadlineExceeded,
                             fmt::format("{} has not begun to serve for {} s", described(*service),
                                         kTimeout.seconds()),
                             address.error().text()));
        }
        return download.port.timer().afterDelay(kLookEvery).then([&download] {
          return wait_ready(download);
        });
      });
}

/// The archive as it comes. Lifetime: the reply's stream holds everything.
HttpReply reply_with(DownloadRef download, kj::Own<Upstream> upstream, Upstream::Reply said) {
  struct Source {
    DownloadRef download;
    kj::Own<Upstream> upstream;
    kj::Own<kj::AsyncInputStream> body;  // goes first: it is read from the connection
  };
  HttpReply reply;
  reply.content_type = download->format.type;
  reply.file_name = download->uuid + std::string(download->format.suffix);
  // Shared, because the reply is copied and its stream must outlive the handler.
  auto source =
      std::make_shared<Source>(Source{std::move(download), kj::mv(upstream), kj::mv(said.body)});
  reply.stream = [source](kj::AsyncOutputStream& out) {
    return source->body->pumpTo(out).then(
        // Only now the job need not be cancelled: it ends by itself.
        [source](std::uint64_t) { source->download->is_done = true; });
  };
  return reply;
}

kj::Promise<HttpReply> fetch(DownloadRef download, ServiceAddress address) {
  return Upstream::open(download->port, std::move(address))
      .then([download](Result<kj::Own<Upstream>> opened) -> kj::Promise<HttpReply> {
        if (!opened.has_value()) return error_reply(opened.error());
        auto upstream = kj::mv(opened).value();
        auto answered = upstream->request(
            // The suffix decides what the job makes: tar, tgz or zip.
            kj::HttpMethod::GET, "/checkpoint" + std::string(download->format.suffix), {}, nullptr);
        // The connection lives as long as the answer that is read from it.
        return answered.then([download, upstream = kj::mv(upstream)](
                                 Result<Upstream::Reply> said) mutable -> HttpReply {
          if (!said.has_value()) return error_reply(said.error());
          if (said->status != 200)
            return error_reply(
                {ErrorCode::kInternal,
                 fmt::format("job {} answered {}", download->job.value(), said->status), ""});
          return reply_with(std::move(download), kj::mv(upstream), kj::mv(said).value());
        });
      });
}

kj::Promise<HttpReply> serve(DownloadRef download) {
  return start(*download).then([download](Result<JobId> job) -> kj::Promise<HttpReply> {
    if (!job.has_value()) return error_reply(job.error());
    download->job = *job;
    return wait_ready(*download).then(
        [download](Result<ServiceAddress> address) -> kj::Promise<HttpReply> {
          if (!address.has_value()) return error_reply(address.error());
          return fetch(download, std::move(address).value());
        });
  });
}

kj::Promise<HttpReply> download_files(ApiPort& port, HttpRequest request) {
  const auto format = format_of(request.accept);
  if (!format.has_value()) return error_reply(format.error());
  auto download = std::make_shared<Download>(port, request.caller, *format, request.arguments[0],
                                             request.has_left);
  return look<Found>(port, request.caller,
                     [uuid = download->uuid, caller = request.caller](const ClusterState& state) {
                       return find(state, uuid, caller);
                     })
      .then([download](Result<Found> found) -> kj::Promise<HttpReply> {
        if (!found.has_value()) return error_reply(found.error());
        // Known only now: which job is to be submitted, and in whose name.
        download->spec = found->spec;
        download->trial = found->trial;
        download->owner = acting_for_owner(download->caller, *found->spec);
        return serve(download);
      });
}

}  // namespace

void add_checkpoint_download_routes(Router& router) {
  router.add(Method::kGet, "/checkpoints/{uuid}",
             "A checkpoint's files as an archive: tar, compressed or not, or zip, as Accept says",
             download_files);
}

}  // namespace muster::api
