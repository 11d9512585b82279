#include "apps/musterd/messages.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<daemon::ToCoreKinds>;
template class Variant<daemon::ToGatewayKinds>;
template class Channel<daemon::ToCore>;
template class Channel<ToJournal>;
template class Channel<daemon::ToPlanner>;
template class Channel<std::unique_ptr<daemon::ForecastOrder>>;
template class Channel<daemon::ToHistory>;
template class Channel<daemon::ToSearch>;
template class Channel<daemon::ToLogs>;
template class Channel<daemon::ToGateway>;
template class Channel<daemon::NamesQuery>;
template class Channel<MailOrder>;
template class Channel<daemon::TokensAsked>;
template class Channel<daemon::ToMetrics>;
template class Channel<daemon::BackgroundWork>;
template class Channel<daemon::TidyOrder>;

}  // namespace muster

namespace muster::daemon {

Channels::Channels() = default;
Channels::~Channels() = default;

}  // namespace muster::daemon
