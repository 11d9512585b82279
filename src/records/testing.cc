#include "records/round_trip.h"

namespace muster::testing {

template void draw(JobSpec& value, Rng& rng);
template void draw(StepSpec& value, Rng& rng);
template void draw(ExperimentSpec& value, Rng& rng);
template void draw(Job& value, Rng& rng);
template void draw(Experiment& value, Rng& rng);
template void draw(ClusterConfig& value, Rng& rng);
template std::string difference(const JobSpec& a, const JobSpec& b);
template std::string difference(const StepSpec& a, const StepSpec& b);
template std::string difference(const ExperimentSpec& a, const ExperimentSpec& b);
template std::string difference(const Job& a, const Job& b);
template std::string difference(const Experiment& a, const Experiment& b);
template std::string difference(const ClusterConfig& a, const ClusterConfig& b);

}  // namespace muster::testing
