// One write at a time: what is sent meanwhile gathers in waiting_. Tasks are read only while that
// is short (room), so that an srun that does not read stops its tasks and not this memory.
#include "stepd/io/srun_link.h"

#include <utility>

namespace muster {

SrunLink::SrunLink(kj::Own<kj::AsyncIoStream> stream) : stream_(kj::mv(stream)), tasks_(*this) {}

void SrunLink::send(FrameKind kind, std::uint32_t task, std::string_view payload) {
  if (is_broken_) return;
  append_frame(waiting_, kind, task, payload);
  // The loop runs until nothing is left to be written.
  if (!std::exchange(is_writing_, true)) tasks_.add(write_loop());
}

kj::Promise<void> SrunLink::write_loop() {
  wake();
  if (waiting_.empty()) {
    is_writing_ = false;
    wake();
    return kj::READY_NOW;
  }
  writing_ = std::exchange(waiting_, {});
  // A write to a connection that has ended throws at once rather than in its promise.
  return kj::evalNow([this] { return stream_->write(writing_.data(), writing_.size()); })
      .then([this] { return write_loop(); });
}

void SrunLink::wake() {
  std::erase_if(waiters_, [this](auto& waiter) {
    // True: waits for everything to be written; false: for room alone.
    const bool is_due = is_broken_ || (waiter.first ? !is_writing_ : waiting_.size() < kQueueMax);
    if (is_due) waiter.second->fulfill();
    return is_due;
  });
}

void SrunLink::taskFailed(kj::Exception&&) {
  is_broken_ = true;
  waiting_.clear();
  wake();
}

kj::Promise<void> SrunLink::room() {
  if (is_broken_ || waiting_.size() < kQueueMax) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiters_.emplace_back(false, kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

kj::Promise<void> SrunLink::flushed() {
  if (is_broken_ || !is_writing_) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiters_.emplace_back(true, kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

kj::Promise<void> SrunLink::run(std::function<void(Frame)> receive) {
  receive_ = std::move(receive);
  // An srun that dies with output unread breaks the connection rather than ending it; one that has
  // died so already throws at once.
  return kj::evalNow([this] { return read_loop(); }).catch_([](kj::Exception&&) {});
}

kj::Promise<void> SrunLink::read_loop() {
  return stream_->tryRead(buffer_, 1, sizeof buffer_)
      .then([this](std::size_t n) -> kj::Promise<void> {
        if (n == 0) return kj::READY_NOW;
        reader_.feed(std::string_view(buffer_, n));
        for (;;) {
          auto frame = reader_.next();
          // Broken framing ends the reading like an end of the stream.
          if (!frame.has_value()) return kj::READY_NOW;
          if (!frame->has_value()) break;
          receive_(std::move(**frame));
        }
        return read_loop();
      });
}

}  // namespace muster
