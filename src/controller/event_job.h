// The job that an event is about.
#pragma once

#include <variant>

#include "model/event.h"

namespace muster {

/// 0: none, or several.
inline JobId job_of(const EventBody& body) {
  return std::visit(
      [](const auto& event) {
        if constexpr (requires { JobId(event.job); }) return JobId(event.job);
        if constexpr (requires { event.step.job; }) return event.step.job;
        return JobId(0);
      },
      body);
}

}  // namespace muster
