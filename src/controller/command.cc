#include "controller/command.h"

namespace muster {

PreparedRequest::PreparedRequest() = default;
PreparedRequest::PreparedRequest(const PreparedRequest&) = default;
PreparedRequest::PreparedRequest(PreparedRequest&&) noexcept = default;
PreparedRequest& PreparedRequest::operator=(const PreparedRequest&) = default;
PreparedRequest& PreparedRequest::operator=(PreparedRequest&&) noexcept = default;
PreparedRequest::~PreparedRequest() = default;

}  // namespace muster
