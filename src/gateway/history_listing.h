// A list for sacct while it is made: what history has and what memory has is merged in the order of
// job numbers and encoded page by page. The gateway reads memory (QueryReplica::read_live),
// history's thread does the rest; between them the listing travels as a value.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gateway/job_listing.h"
#include "model/view.h"
#include "store/history/history_store.h"

namespace muster {

/// One attempt with its steps.
struct HistoryRun {
  JobView job;
  std::vector<StepView> steps;    ///< those in memory, by number
  bool has_stored_steps = false;  ///< others are in history
  HistoryKey key() const { return {job.id, job.attempt}; }
};

/// The list's state. Each attempt is shown once, however many end while the list is made: memory is
/// read before history, for the same stretch of numbers. What had ended by then is in history
/// (which hears of every end no later than the gateway); what had not is in what was read of
/// memory, and where history has it as well by now, that is the one shown. job_listing.h says which
/// jobs belong to the list at all. Size: what one slice has of memory (QueryReplica::read_live) and
/// one read of history (HistoryStore::read).
struct HistoryListing {
  Query query;
  JobListing memory;            ///< how far memory has been read
  std::deque<HistoryRun> live;  ///< read there and not merged yet, rising
  HistoryCursor stored;         ///< how far history has been read
  bool is_caught_up = true;     ///< history has been read as far as memory
  std::optional<HistoryRun>
      newest;  ///< of a job's attempts that match; the next one may be newer, and alone wanted
  std::deque<HistoryRun> ready;  ///< to be shown
  bool is_front_shown = false;   ///< the first of those has been, but for steps that history has
  std::optional<std::uint32_t> shown_step;  ///< of them, the last that was

  std::size_t damaged_count = 0;  ///< records of history that were passed over
  HistoryKey first_damaged;       ///< of them

  bool needs_memory() const { return is_caught_up && !memory.is_done() && ready.empty(); }
  bool is_done() const { return is_caught_up && memory.is_done() && ready.empty() && !newest; }
};

/// Returns the error with which a list ends that passed over damaged records, when all else has
/// been shown. Nullopt: there were none.
std::optional<Error> damage_of(const HistoryListing& listing);

/// Continues the list by a page or so, until memory has to be read further or all is done. There
/// may be no pages. `store` may be null: history has nothing. Requires: not needs_memory(). Errors:
/// as HistoryStore. Cost: that of a few hundred rows.
Result<std::vector<std::string>> next_pages(HistoryListing& listing, HistoryStore* store);

}  // namespace muster
