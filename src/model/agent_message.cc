#include "model/agent_message.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<ToAgentKinds>;
template class Variant<FromAgentKinds>;

}  // namespace muster
