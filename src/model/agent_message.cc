// The only place where copies and destructors of these variants are compiled: every file that
// includes them would do so otherwise.

#include "model/agent_message.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<ToAgentKinds>;
template class Variant<FromAgentKinds>;

}  // namespace muster
