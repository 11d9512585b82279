// srun's side of a step: a socket in a folder that only its user can enter, a connection from each
// node's supervisor, frames either way. Input is sent only as far as supervisors take it, so that
// a task that reads slowly does not fill this process's memory.

#include "cli/slurm/step_server.h"

#include <fmt/format.h>
#include <kj/async-unix.h>
#include <kj/io.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "cli/lib/console.h"
#include "text/words.h"
#include "wire/acceptor.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster::cli {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;

std::string fresh_key() {
  std::uint64_t words[2] = {};
  [[maybe_unused]] const auto ignored = ::getrandom(words, sizeof words, 0);
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

/// A folder that nobody else can look into.
Result<std::string> private_folder() {
  const auto wanted = environment_value("TMPDIR");
  // TMPDIR may be unset, missing or not writable.
  for (const std::string& parent : {std::string(wanted), std::string("/tmp")}) {
    std::string name = parent + "/muster-srun-XXXXXX";
    if (!parent.empty() && ::mkdtemp(name.data()) != nullptr) return name;
  }
  return fail(ErrorCode::kUnavailable,
              "cannot make a folder for the step's streams in TMPDIR or /tmp",
              std::strerror(errno));
}

struct Peer {
  explicit Peer(kj::Own<kj::AsyncIoStream> s) : stream(kj::mv(s)) {}
  kj::Own<kj::AsyncIoStream> stream;
  FrameReader reader;
  char buffer[kBuffer];
  std::string unsent;
  std::size_t input_under_way = 0;  ///< bytes sent, or to be sent, that were not taken yet
  bool is_writing = false;
  bool is_closing = false;
  bool is_broken = false;  ///< nothing can be sent any more; the end of reading follows
  bool is_known = false;
  std::uint32_t node = 0;
};

}  // namespace

struct StepServer::State final : kj::TaskSet::ErrorHandler {
  State(kj::AsyncIoContext& context, int fd, std::string path, StepEvents e)
      : io(context),
        listen_fd(fd),
        folder(std::move(path)),
        address("unix:" + folder + "/io"),
        key(fresh_key()),
        events(std::move(e)),
        acceptor(
            context, fd, [this](int peer) { adopt(peer); },
            [this](int error) { events.shortage(error); }),
        tasks(*this) {
    // From now on whoever connects is heard; only a hello with the key makes a peer of it.
    tasks.add(acceptor.run());
  }
  ~State() { hide(); }
  // Once all are there nobody else has to find it.
  void hide() {
    if (std::exchange(is_hidden, true)) return;
    ::unlink((folder + "/io").c_str());
    ::rmdir(folder.c_str());
  }
  void taskFailed(kj::Exception&&) override {}  // each peer's end is handled where it is read

  void adopt(int fd) {
    auto peer = std::make_shared<Peer>(socket_stream(io, fd));
    auto read = kj::evalNow([&] { return read_loop(peer); });
    // An exception of a read is the end of that peer, as its end of file is.
    tasks.add(read.catch_([](kj::Exception&&) {}).then([this, peer] { on_end(*peer); }));
  }

  kj::Promise<void> read_loop(std::shared_ptr<Peer> peer) {
    return peer->stream->tryRead(peer->buffer, 1, kBuffer)
        .then([this, peer](std::size_t size) -> kj::Promise<void> {
          if (size == 0) return kj::READY_NOW;
          peer->reader.feed(std::string_view(peer->buffer, size));
          return receive_frames(peer) ? read_loop(peer) : kj::Promise<void>(kj::READY_NOW);
        });
  }

  /// False: the peer is not one of ours.
  bool receive_frames(const std::shared_ptr<Peer>& peer) {
    for (;;) {
      auto frame = peer->reader.next();
      if (!frame.has_value()) return false;
      if (!*frame) return true;
      if (peer->is_known && (*frame)->kind == FrameKind::kInputTaken) {
        // Never below 0, whatever a peer claims to have taken.
        peer->input_under_way -= std::min<std::size_t>(peer->input_under_way, (*frame)->task);
        wake();
      } else if (peer->is_known) {
        events.frame(peer->node, std::move(**frame));
      } else if (!admit(peer, **frame)) {
        return false;
      }
    }
  }

  bool admit(const std::shared_ptr<Peer>& peer, const Frame& frame) {
    const auto words = split_words(frame.payload, ' ');
    // A stranger on this machine may connect: without the key it is dropped.
    if (frame.kind != FrameKind::kHello || words.size() != 2 || words[0] != key) return false;
    const auto node = parse_whole32(words[1]);
    if (!node) return false;
    peer->node = *node;
    peer->is_known = true;
    // A supervisor that was started again takes the place of its predecessor.
    peers[peer->node] = peer;
    events.joined(peer->node);
    return true;
  }

  void on_end(Peer& peer) {
    // The predecessor's end says nothing about who took its place.
    const auto known = peers.find(peer.node);
    if (!peer.is_known || known == peers.end() || known->second.get() != &peer) return;
    peers.erase(known);
    wake();  // nobody waits for what it will not take any more
    events.lost(peer.node);
  }

  void append(const std::shared_ptr<Peer>& peer, FrameKind kind, std::uint32_t task,
              std::string_view payload) {
    if (peer->is_broken) return;
    if (kind == FrameKind::kInput) peer->input_under_way += payload.size();
    append_frame(peer->unsent, kind, task, payload);
    write(peer);
  }

  void write(const std::shared_ptr<Peer>& peer) {
    // What comes meanwhile is sent when the write ends, in one piece.
    if (peer->is_writing) return;
    // Closed only after everything that was asked for before.
    if (peer->unsent.empty()) {
      if (std::exchange(peer->is_closing, false))
        kj::runCatchingExceptions([&] { peer->stream->shutdownWrite(); });
      return;
    }
    peer->is_writing = true;
    auto bytes = kj::heap<std::string>(std::exchange(peer->unsent, {}));
    // A write to a connection that has ended throws at once rather than in its promise.
    auto written = kj::evalNow([&] { return peer->stream->write(bytes->data(), bytes->size()); });
    auto sent = written.attach(kj::mv(bytes))
                    .then([] { return true; }, [](kj::Exception&&) { return false; });
    tasks.add(sent.then([this, peer](bool is_sent) {
      peer->is_writing = false;
      // More may have been appended.
      if (is_sent) return write(peer);
      peer->is_broken = true;
      peer->unsent.clear();
      peer->input_under_way = 0;
      wake();
    }));
  }

  // By the slowest: all tasks get the same input.
  bool has_room() const {
    return std::ranges::all_of(
        peers, [](const auto& entry) { return entry.second->input_under_way < kInputWindow; });
  }
  void wake() {
    if (waiting_for_room.get() == nullptr || !has_room()) return;
    waiting_for_room->fulfill();
    waiting_for_room = nullptr;
  }

  kj::AsyncIoContext& io;
  kj::AutoCloseFd listen_fd;  ///< closed after its acceptor has let go of it
  std::string folder;
  std::string address;
  std::string key;
  bool is_hidden = false;
  StepEvents events;
  std::map<std::uint32_t, std::shared_ptr<Peer>> peers;
  kj::Own<kj::PromiseFulfiller<void>> waiting_for_room;
  Acceptor acceptor;
  kj::TaskSet tasks;
};

Result<std::unique_ptr<StepServer>> StepServer::create(kj::AsyncIoContext& io, StepEvents events) {
  const std::string folder = TRY(private_folder());
  auto fd = listen_unix(folder + "/io", 0600);
  if (!fd.has_value()) {
    // The folder is ours alone and still empty.
    ::rmdir(folder.c_str());
    return muster::fail(fd.error());
  }
  return std::unique_ptr<StepServer>(
      new StepServer(std::make_unique<State>(io, *fd, folder, std::move(events))));
}

StepServer::StepServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
StepServer::~StepServer() = default;

const std::string& StepServer::address() const { return state_->address; }
const std::string& StepServer::key() const { return state_->key; }
std::size_t StepServer::joined_count() const { return state_->peers.size(); }
bool StepServer::is_short() const { return state_->acceptor.is_short(); }
void StepServer::hide() { state_->hide(); }

void StepServer::send(std::uint32_t node, FrameKind kind, std::uint32_t task,
                      std::string_view payload) {
  const auto peer = state_->peers.find(node);
  if (peer == state_->peers.end()) return;
  state_->append(peer->second, kind, task, payload);
}

void StepServer::send_all(FrameKind kind, std::uint32_t task, std::string_view payload) {
  for (const auto& [node, peer] : state_->peers) {
    state_->append(peer, kind, task, payload);
  }
}

void StepServer::close(std::uint32_t node) {
  const auto peer = state_->peers.find(node);
  if (peer == state_->peers.end()) return;
  peer->second->is_closing = true;
  state_->write(peer->second);
}

kj::Promise<void> StepServer::room() {
  if (state_->has_room()) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  state_->waiting_for_room = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

}  // namespace muster::cli
