#include "wire/delivery_budget.h"

#include <utility>

namespace muster {
namespace {

constexpr kj::Duration kOld = 1 * kj::SECONDS;

}  // namespace

DeliveryBudget::Share::Share(DeliveryBudget& budget, std::size_t bytes)
    : budget_(budget),
      bytes_(bytes),
      too_old_(budget.timer_.afterDelay(kOld)
                   .then([this] { give_back(); })
                   .eagerlyEvaluate([](kj::Exception&&) {})) {
  budget_.used_ += bytes_;
}

void DeliveryBudget::Share::give_back() {
  budget_.used_ -= std::exchange(bytes_, 0);
  budget_.serve();
}

kj::Promise<kj::Own<DeliveryBudget::Share>> DeliveryBudget::take(std::size_t bytes) {
  auto paf = kj::newPromiseAndFulfiller<kj::Own<Share>>();
  asking_.push_back({bytes, kj::mv(paf.fulfiller)});
  serve();
  return kj::mv(paf.promise);
}

void DeliveryBudget::serve() {
  while (!asking_.empty()) {
    Asking& first = asking_.front();
    const bool is_wanted = first.answer->isWaiting();
    if (is_wanted && used_ > 0 && used_ + first.bytes > bytes_max_) return;
    Asking next = kj::mv(first);
    asking_.pop_front();
    if (is_wanted) next.answer->fulfill(kj::heap<Share>(*this, next.bytes));
  }
}

}  // namespace muster
