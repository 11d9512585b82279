#include "engine/command.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<PreparedRequestKinds>;

}  // namespace muster
