// Instantiates the variant of all requests once for the whole program (base/variant.h).

#include "model/request.h"

#include "base/variant_members.h"

namespace muster {

template class Variant<RequestKinds>;

}  // namespace muster
