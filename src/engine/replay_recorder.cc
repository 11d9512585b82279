#include "engine/replay_recorder.h"

#include "state/views.h"

namespace muster {

// What is being applied is not counted in the state's own number yet.
void ReplayRecorder::attempt_ended(const Job& job, TimePoint) {
  const Seq seq(state_.seq().value() + 1);
  if (seq > watermark_) records_.push_back({seq, view_of(job, state_, QueryDetail::kFull)});
}

void ReplayRecorder::step_ended(const Job& job, const StepState& step, TimePoint) {
  const Seq seq(state_.seq().value() + 1);
  if (seq > watermark_) records_.push_back({seq, view_of(step, job, state_)});
}

}  // namespace muster
