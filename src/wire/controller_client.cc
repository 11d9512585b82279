// Blocking calls for commands: each runs the event loop until its answer. Exceptions of the
// transport become errors here, and nowhere else.
#include "wire/controller_client.h"

#include <capnp/rpc-twoparty.h>
#include <sys/random.h>

#include <chrono>

#include "records/fields.h"
#include "records/page_codec.h"
#include "records/wire_records.h"
#include "wire/connection_quota.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster {

using records::read;
using records::write;

struct ControllerClient::State {
  State(kj::AsyncIoContext& context, int fd)
      : io(context),
        stream(socket_stream(context, fd)),
        client(*stream),
        controller(client.bootstrap().castAs<schema::Controller>()) {}

  /// The call's answer, or an exception after our timeout.
  template <class T>
  T answer(kj::Promise<T> call) {
    if (timeout == Duration()) return call.wait(io.waitScope);
    heard();
    auto late = silence().then([this]() -> T {
      kj::throwFatalException(kj::Exception(kj::Exception::Type::OVERLOADED, __FILE__, __LINE__,
                                            kj::str("no answer for ", timeout.seconds(), " s")));
    });
    return call.exclusiveJoin(kj::mv(late)).wait(io.waitScope);
  }
  void heard() { last_heard = std::chrono::steady_clock::now(); }
  /// Fulfilled when nothing was heard for our timeout. What we do with a page, such as
  /// to wait for whoever reads our output, is not the other end's silence.
  kj::Promise<void> silence() {
    const auto limit = std::chrono::microseconds(timeout.microseconds());
    // Looked at again when something was heard meanwhile, so that the timer is set once for each
    // timeout.
    return io.provider->getTimer()
        .afterDelay(timeout.microseconds() * kj::MICROSECONDS)
        .then([this, limit]() -> kj::Promise<void> {
          const bool is_silent = std::chrono::steady_clock::now() - last_heard >= limit;
          return is_silent ? kj::Promise<void>(kj::READY_NOW) : silence();
        });
  }

  kj::AsyncIoContext& io;
  Duration timeout;  ///< zero: without end
  std::chrono::steady_clock::time_point last_heard;
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyClient client;
  schema::Controller::Client controller;
};

namespace {

/// Pages arrive by call; a malformed one ends the query.
class SinkImpl final : public schema::PageSink::Server {
 public:
  explicit SinkImpl(const std::function<Status(std::string_view)>& visit) : visit_(visit) {}
  kj::Promise<void> page(PageContext context) override {
    const auto bytes = context.getParams().getBytes();
    const Status read =
        visit_(std::string_view(reinterpret_cast<const char*>(bytes.begin()), bytes.size()));
    // Throws into the query's own call, which ends with it.
    KJ_REQUIRE(read.has_value(), "malformed page");
    return kj::READY_NOW;
  }

 private:
  const std::function<Status(std::string_view)>& visit_;
};

/// What the other end said when it gave up on us, without the transport's words around it.
std::string reason_of(const kj::Exception& exception) {
  constexpr std::string_view kRemote = "remote exception: ";
  const std::string text = exception.getDescription().cStr();
  const auto said = text.rfind(kRemote);
  return said == std::string::npos ? text : text.substr(said + kRemote.size());
}

/// A connection that is of no use any more. Unless it just ended, the message says what the other
/// end found wrong; a refusal comes as the end of the connection, too, and is known by how it
/// begins.
Error error_of(const kj::Exception& exception) {
  const std::string reason = reason_of(exception);
  if (exception.getType() == kj::Exception::Type::DISCONNECTED &&
      !reason.starts_with(kRefusalBegins)) {
    // In Slurm's words, as its commands say when slurmctld is gone.
    return {ErrorCode::kUnavailable, "Zero Bytes were transmitted or received",
            exception.getDescription().cStr()};
  }
  return {ErrorCode::kUnavailable, std::string(kNoAnswer) + " (" + reason + ")", "",
          ErrorCause::kNoAnswer};
}

/// Runs a call to its end, with the transport's exceptions as kUnavailable.
template <class T, class State, class Start>
Result<T> run(State& state, Start&& start) {
  std::optional<T> value;
  auto failure = kj::runCatchingExceptions([&] { value.emplace(state.answer(start())); });
  KJ_IF_MAYBE (exception, failure) {
    return fail(error_of(*exception));
  }
  return std::move(*value);
}

}  // namespace

ControllerClient::ControllerClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ControllerClient::~ControllerClient() = default;

void ControllerClient::set_timeout(Duration timeout) { state_->timeout = timeout; }

Result<std::unique_ptr<ControllerClient>> ControllerClient::connect(kj::AsyncIoContext& io,
                                                                    const std::string& address,
                                                                    std::optional<Duration> limit) {
  // Without a limit a connection takes as long as the kernel lets it.
  const int fd = limit ? TRY(connect_within(address, *limit)) : TRY(connect_to(address));
  return std::unique_ptr<ControllerClient>(new ControllerClient(std::make_unique<State>(io, fd)));
}

kj::Promise<std::vector<Reply>> ControllerClient::submit_async(const std::vector<Request>& requests,
                                                               RequestId id) {
  auto call = state_->controller.submitRequest();
  auto list = call.initRequests(static_cast<unsigned>(requests.size()));
  for (unsigned i = 0; i < requests.size(); ++i) write(list[i], requests[i]);
  call.setRequestHigh(id.high);
  call.setRequestLow(id.low);
  return call.send().then([](auto&& response) {
    std::vector<Reply> replies;
    for (const auto wire : response.getReplies()) read(wire, replies.emplace_back());
    return replies;
  });
}

Result<std::vector<Reply>> ControllerClient::submit(const std::vector<Request>& requests,
                                                    RequestId id) {
  return run<std::vector<Reply>>(*state_, [&] { return submit_async(requests, id); });
}

Result<Reply> ControllerClient::submit_one(Request request, RequestId id) {
  auto replies = TRY(submit({std::move(request)}, id));
  if (replies.size() != 1) return fail(ErrorCode::kInternal, "no reply");
  return std::move(replies.front());
}

Status ControllerClient::query(const Query& query, const std::function<void(Page)>& visit) {
  return query_pages(query, [&visit](std::string_view bytes) -> Status {
    visit(TRY(records::decode_page(bytes)));
    return {};
  });
}

Status ControllerClient::query_jobs(const Query& query,
                                    const std::function<void(JobView&)>& visit) {
  return query_pages(query,
                     [&visit](std::string_view bytes) { return records::each_job(bytes, visit); });
}

Status ControllerClient::query_pages(const Query& query,
                                     const std::function<Status(std::string_view)>& visit) {
  std::optional<Error> refused;
  auto failure = kj::runCatchingExceptions([&] {
    auto call = state_->controller.queryRequest();
    write(call.initQuery(), query);
    const std::function<Status(std::string_view)> noted = [&](std::string_view bytes) {
      Status visited = visit(bytes);
      // After the visit: the time that we take for a page is not the other end's silence.
      state_->heard();
      return visited;
    };
    call.setSink(kj::heap<SinkImpl>(noted));
    refused = state_->answer(call.send().then([](auto&& response) {
      std::optional<Error> error;
      if (response.hasError()) read(response.getError(), error.emplace());
      return error;
    }));
  });
  KJ_IF_MAYBE (exception, failure) {
    return fail(error_of(*exception));
  }
  if (refused) return fail(*refused);
  return {};
}

kj::Promise<WaitAnswer> ControllerClient::wait_async(const WaitFor& wanted) {
  auto call = state_->controller.waitRequest();
  call.setJob(wanted.what.job.value());
  call.setAttempt(wanted.what.attempt);
  call.setStep(wanted.what.step);
  call.setUntil(static_cast<std::uint8_t>(wanted.until));
  call.setLaunchKey(wanted.launch_key);
  return call.send().then([](auto&& response) {
    WaitAnswer answer;
    if (response.hasJob()) read(response.getJob(), answer.job.emplace());
    if (response.hasStep()) read(response.getStep(), answer.step.emplace());
    if (response.hasError()) read(response.getError(), answer.error.emplace());
    return answer;
  });
}

Result<WaitAnswer> ControllerClient::wait(const WaitFor& wanted) {
  return run<WaitAnswer>(*state_, [&] { return wait_async(wanted); });
}

kj::Promise<Result<LogAnswer>> ControllerClient::read_logs_async(const LogQuery& query,
                                                                 Duration wait) {
  auto call = state_->controller.readLogsRequest();
  write(call.initQuery(), query);
  call.setWait(wait.microseconds());
  return call.send().then([](auto&& response) -> Result<LogAnswer> {
    if (response.hasError()) {
      Error error;
      read(response.getError(), error);
      return fail(std::move(error));
    }
    LogAnswer answer;
    read(response.getPage(), answer.page);
    answer.is_over = response.getIsOver();
    return answer;
  });
}

Result<LogAnswer> ControllerClient::read_logs(const LogQuery& query, Duration wait) {
  return TRY(run<Result<LogAnswer>>(*state_, [&] { return read_logs_async(query, wait); }));
}

RequestId fresh_request_id() {
  RequestId id;
  // 0 means that no number is set: drawn again.
  while (!id.is_set()) {
    [[maybe_unused]] const auto ignored = ::getrandom(&id, sizeof id, 0);
  }
  return id;
}

}  // namespace muster
