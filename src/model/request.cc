#include "model/request.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<RequestKinds>;

}  // namespace muster
