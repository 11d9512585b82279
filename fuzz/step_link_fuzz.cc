// The stream between agent and supervisors, and the one between supervisors and srun: whatever is
// at the other end, each side only ever sees whole messages of its own, or the end of the stream.
// The first byte says which stream.
#include <kj/async-io.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/slurm/step_server.h"
#include "fuzz/fuzz.h"
#include "records/page_codec.h"
#include "stepd/io/srun_link.h"
#include "wire/message_link.h"
#include "wire/socket.h"
#include "wire/step_io.h"

namespace muster::fuzz {
namespace {

kj::AsyncIoContext& io() {
  static auto context = kj::setupAsyncIo();
  return context;
}

std::string framed(const std::string& bytes) {
  std::string all;
  for (unsigned i = 0; i < 4; ++i) all += static_cast<char>((bytes.size() >> (8 * i)) & 0xff);
  return all + bytes;
}

/// Bytes into one end of a pipe and then its end; `serve` has the other one.
template <class Serve>
void feed(std::string_view bytes, Serve&& serve) {
  auto pipe = io().provider->newTwoWayPipe();
  auto& mine = *pipe.ends[0];
  auto served = serve(kj::mv(pipe.ends[1])).eagerlyEvaluate(nullptr);
  auto drained = mine.readAllBytes().ignoreResult().eagerlyEvaluate([](kj::Exception&&) {});
  auto written = mine.write(bytes.data(), bytes.size())
                     .then([&mine] { mine.shutdownWrite(); }, [](kj::Exception&&) {})
                     .eagerlyEvaluate(nullptr);
  auto limit = io().provider->getTimer()
                   .afterDelay(20 * kj::SECONDS)
                   .then([] { found(__FILE__, __LINE__, "the other end never lets go"); })
                   .eagerlyEvaluate(nullptr);
  served.wait(io().waitScope);
}

void agent_link(std::string_view bytes) {
  feed(bytes, [](kj::Own<kj::AsyncIoStream> stream) {
    auto link = kj::heap<MessageLink>(kj::mv(stream));
    auto& raw = *link;
    return raw
        .run([&raw](std::string message) {
          (void)records::decode_to_agent(message);
          const auto said = records::decode_from_agent(message);
          if (said.has_value()) raw.send(records::encode_message(*said));
        })
        .attach(kj::mv(link));
  });
}

void srun_link(std::string_view bytes) {
  feed(bytes, [](kj::Own<kj::AsyncIoStream> stream) {
    auto link = kj::heap<SrunLink>(kj::mv(stream));
    auto& raw = *link;
    return raw
        .run([&raw](Frame frame) {
          raw.send(FrameKind::kInputTaken, static_cast<std::uint32_t>(frame.payload.size()), "");
        })
        .attach(kj::mv(link));
  });
}

/// Stands for the key of srun's socket, which is drawn anew each time and as long.
const std::string kKeyMark(32, 'K');

/// srun's own socket, which anybody who knows its address may dial.
void step_server(std::string_view bytes) {
  std::uint32_t joined = 0;
  cli::StepEvents events;
  events.joined = [&](std::uint32_t) { ++joined; };
  events.frame = [](std::uint32_t, Frame) {};
  events.lost = [](std::uint32_t) {};
  auto server = cli::StepServer::create(io(), std::move(events));
  FUZZ_EXPECT(server.has_value(), "srun cannot listen");
  const auto fd = connect_to((*server)->address());
  FUZZ_EXPECT(fd.has_value(), "srun's socket cannot be dialled");
  std::string sent(bytes);
  bool is_key_told = false;
  for (std::size_t at = sent.find(kKeyMark); at != sent.npos; at = sent.find(kKeyMark, at)) {
    sent.replace(at, kKeyMark.size(), (*server)->key());
    is_key_told = true;
  }
  [[maybe_unused]] const auto written = ::write(*fd, sent.data(), sent.size());
  ::shutdown(*fd, SHUT_WR);
  for (int i = 0; i < 20; ++i) {
    io().waitScope.poll();
    (*server)->send_all(FrameKind::kStart, 0, "");
  }
  FUZZ_EXPECT(joined == 0 || is_key_told, "somebody joined without the key");
  ::close(*fd);
}

}  // namespace

std::vector<std::string> seeds() {
  const StepId step{JobId(1), 0, 0};
  StepDone done;
  done.id = step;
  done.tasks = {ExitStatus{}};
  LaunchStep launch;
  launch.id = step;
  launch.job = std::make_shared<const JobSpec>();
  launch.step = std::make_shared<const StepSpec>();
  const std::string link = framed(records::encode_message(FromAgent(StepRunning{step}))) +
                           framed(records::encode_message(FromAgent(done))) +
                           framed(records::encode_message(ToAgent(launch))) +
                           framed(records::encode_message(ToAgent(TerminateJob{
                               JobId(1), 0, "DUE TO TIME LIMIT", Duration::seconds(30)})));
  std::string frames;
  for (unsigned kind = 1; kind <= 12; ++kind)
    append_frame(frames, static_cast<FrameKind>(kind), kind, std::string(kind, 'x'));
  std::string hello;
  append_frame(hello, FrameKind::kHello, 0, std::string(64, '0') + " 0");
  std::string with_key;
  append_frame(with_key, FrameKind::kHello, 0, kKeyMark + " 0");
  return {std::string(1, 0) + link, std::string(1, 1) + frames, std::string(1, 2) + hello + frames,
          std::string(1, 2) + with_key + frames};
}

void read_stream(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (static_cast<unsigned char>(input[0]) % 3) {
    case 0: return agent_link(rest);
    case 1: return srun_link(rest);
    default: return step_server(rest);
  }
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::read_stream(muster::fuzz::bytes_of(data, size));
  return 0;
}
