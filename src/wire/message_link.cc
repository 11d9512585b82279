#include "wire/message_link.h"

#include <utility>

namespace muster {

MessageLink::MessageLink(kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)), tasks_(*this) {}

MessageLink::~MessageLink() noexcept { wake(false); }

void MessageLink::taskFailed(kj::Exception&&) {
  is_broken_ = true;
  wake(false);
}

void MessageLink::wake(bool is_written) {
  KJ_IF_MAYBE (fulfiller, flushed_) {
    (*fulfiller)->fulfill(kj::cp(is_written));
    flushed_ = nullptr;
  }
}

void MessageLink::send(std::string bytes) {
  if (is_broken_) return;
  const auto size = static_cast<std::uint32_t>(bytes.size());
  // Lowest byte first.
  for (unsigned i = 0; i < 4; ++i) waiting_.push_back(static_cast<char>((size >> (8 * i)) & 0xff));
  waiting_ += bytes;
  if (!std::exchange(is_writing_, true)) tasks_.add(write_loop());
}

kj::Promise<void> MessageLink::write_loop() {
  // One write at a time; what is sent meanwhile goes with the next.
  if (waiting_.empty()) {
    is_writing_ = false;
    wake(true);
    return kj::READY_NOW;
  }
  writing_ = std::exchange(waiting_, {});
  // A write to a connection that has ended throws at once rather than in its promise.
  return kj::evalNow([this] { return stream_->write(writing_.data(), writing_.size()); })
      .then([this] { return write_loop(); });
}

kj::Promise<bool> MessageLink::flushed() {
  if (!is_writing_ || is_broken_) return !is_broken_;
  auto paf = kj::newPromiseAndFulfiller<bool>();
  flushed_ = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

kj::Promise<void> MessageLink::run(std::function<void(std::string)> receive) {
  receive_ = std::move(receive);
  // A peer that dies with something unread breaks the connection rather than ending it; one that
  // has died so already throws at once.
  return kj::evalNow([this] { return read_one(); }).catch_([](kj::Exception&&) {});
}

kj::Promise<void> MessageLink::read_one() {
  return stream_->tryRead(header_, 4, 4).then([this](std::size_t n) -> kj::Promise<void> {
    std::uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= static_cast<std::uint32_t>(header_[i]) << (8 * i);
    // The end of the stream, or what no peer of ours sends.
    if (n < 4 || size > kMessageMax) return kj::READY_NOW;
    body_.resize(size);
    return stream_->tryRead(body_.data(), size, size)
        .then([this, size](std::size_t got) -> kj::Promise<void> {
          if (got < size) return kj::READY_NOW;
          receive_(std::exchange(body_, {}));
          return read_one();
        });
  });
}

}  // namespace muster
