// Lists are sorted once, where a request comes in, so that conditions can search them. An empty
// list is no condition.
#include "admission/filter_lists.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kWordsMax = 65'536;

template <class List>
Status sort_list(List& list) {
  if (list.size() > kWordsMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("a list of {} is too long", list.size()),
                fmt::format("give at most {}", kWordsMax));
  }
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return {};
}

}  // namespace

Status sort_lists(JobFilter& filter) {
  for (auto* list :
       {&filter.users, &filter.names, &filter.accounts, &filter.partitions, &filter.qos,
        &filter.wckeys, &filter.reservations, &filter.licenses, &filter.nodes}) {
    TRY(sort_list(*list));
  }
  TRY(sort_list(filter.uids));
  return sort_list(filter.states);
}

bool is_listed(const std::vector<std::string>& list, std::string_view word) {
  return list.empty() || std::ranges::binary_search(list, word, std::less<>());
}
bool is_listed(const std::vector<std::uint32_t>& list, std::uint32_t number) {
  return list.empty() || std::ranges::binary_search(list, number);
}
bool is_listed(const std::vector<JobState>& list, JobState state) {
  return list.empty() || std::ranges::binary_search(list, state);
}

}  // namespace muster
