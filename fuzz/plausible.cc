#include "fuzz/plausible.h"

namespace muster::fuzz {

template Request draw_any<Request>(Rng& rng);
template ToAgent draw_any<ToAgent>(Rng& rng);
template FromAgent draw_any<FromAgent>(Rng& rng);
template void make_plausible(JobSpec& value, Rng& rng);
template void make_plausible(LaunchStep& value, Rng& rng);
template void make_extreme(JobSpec& value, Rng& rng, double share);

}  // namespace muster::fuzz

template void muster::testing::draw(muster::LaunchStep& value, muster::Rng& rng);
template void muster::testing::draw(muster::JobSpec& value, muster::Rng& rng);
