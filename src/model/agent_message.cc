#include "model/agent_message.h"

namespace muster {

ToAgent::ToAgent() = default;
ToAgent::ToAgent(const ToAgent&) = default;
ToAgent::ToAgent(ToAgent&&) noexcept = default;
ToAgent& ToAgent::operator=(const ToAgent&) = default;
ToAgent& ToAgent::operator=(ToAgent&&) noexcept = default;
ToAgent::~ToAgent() = default;

FromAgent::FromAgent() = default;
FromAgent::FromAgent(const FromAgent&) = default;
FromAgent::FromAgent(FromAgent&&) noexcept = default;
FromAgent& FromAgent::operator=(const FromAgent&) = default;
FromAgent& FromAgent::operator=(FromAgent&&) noexcept = default;
FromAgent::~FromAgent() = default;

}  // namespace muster
