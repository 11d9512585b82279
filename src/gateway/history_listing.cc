// Memory and history are merged by keys (job, attempt), both rising. Memory is read first for each
// stretch of numbers, so that an end that falls in between is in one of the two. Without
// --duplicates only the newest attempt of a job is shown, which is known when the next job comes.
#include "gateway/history_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gateway/page_writer.h"
#include "gateway/view_filter.h"

namespace muster {
namespace {

/// Jobs and steps of one turn.
constexpr std::size_t kRowsMax = 256;
/// Where few rows match, history is read so many times in a turn.
constexpr int kReadsMax = 4;

/// `run` is the next in the order of keys.
void add_run(HistoryListing& listing, HistoryRun run) {
  if (listing.query.is_duplicates) {
    listing.ready.push_back(std::move(run));
    return;
  }
  // The next job has begun: the newest of the one before stays.
  if (listing.newest && listing.newest->job.id != run.job.id)
    listing.ready.push_back(std::move(*listing.newest));
  listing.newest = std::move(run);
}

void add_live_before(HistoryListing& listing, const HistoryKey& key) {
  while (!listing.live.empty() && listing.live.front().key() < key) {
    add_run(listing, std::move(listing.live.front()));
    listing.live.pop_front();
  }
}

/// An array's record that its last element, which keeps the number, has taken over since: the
/// record stood for all that are not shown.
bool stands_for_elements(const HistoryRun& run) {
  return !run.job.array_index && run.job.array_remaining_count > 1;
}
/// A state that was lost gave the same numbers, but not at the same time.
bool is_same(const HistoryRun& live, const HistoryRun& stored) {
  return live.key() == stored.key() && live.job.submit_time == stored.job.submit_time;
}

void add_stored(HistoryListing& listing, JobView job) {
  // On the list already within its array's record, or not meant by the filter.
  if (listing.memory.has_in_record(job.id, job.array_job) || !matches(job, listing.query.filter))
    return;
  HistoryRun run;
  run.job = std::move(job);
  run.has_stored_steps = listing.query.is_steps;
  add_live_before(listing, run.key());
  // Both have it: history's is the later word, unless the record spoke for elements.
  if (!listing.live.empty() && is_same(listing.live.front(), run)) {
    if (stands_for_elements(listing.live.front())) return;
    listing.live.pop_front();
  }
  add_run(listing, std::move(run));
}

void pass_over(HistoryListing& listing, const HistoryKey& key, std::size_t count) {
  if (count == 0) return;
  if (listing.damaged_count == 0) listing.first_damaged = key;
  listing.damaged_count += count;
}

/// Reads history once and merges what memory has up to there. At last beyond what memory knows: a
/// state that was lost leaves its history.
Status read_on(HistoryListing& listing, HistoryStore* store) {
  // Up to where memory was read; at the end up to the highest number.
  const JobId until = listing.memory.is_done() ? JobId(UINT32_MAX) : listing.memory.position();
  HistoryPage page;
  if (store != nullptr) {
    page = TRY(store->read(listing.query, listing.stored, until));
  } else {
    listing.stored.after = {until, 0};
    page.is_end = true;
  }
  for (const HistoryKey& key : page.damaged) {
    // Damaged in history and whole in memory: nothing is missing from the list.
    const bool is_in_memory =
        std::ranges::find(listing.live, key, &HistoryRun::key) != listing.live.end();
    if (!is_in_memory) pass_over(listing, key, 1);
  }
  for (JobView& job : page.jobs) add_stored(listing, std::move(job));
  const HistoryKey& reached = listing.stored.after;
  // Up to and including the key that history has reached.
  add_live_before(listing, {reached.job,
                            reached.attempt == UINT32_MAX ? reached.attempt : reached.attempt + 1});
  listing.is_caught_up = page.is_end;
  if (listing.is_caught_up && listing.memory.is_done() && listing.newest) {
    listing.ready.push_back(*std::exchange(listing.newest, std::nullopt));
  }
  return {};
}

/// A job, or some of its steps. Returns how many rows that were.
Result<std::size_t> show_front(HistoryListing& listing, HistoryStore* store, PageWriter& writer) {
  HistoryRun& run = listing.ready.front();
  std::size_t rows = 0;
  // The job with the steps in memory first, then those of history in portions.
  if (!listing.is_front_shown) {
    listing.is_front_shown = true;
    writer.add(run.job);
    for (const StepView& step : run.steps) writer.add(step);
    rows = 1 + run.steps.size();
  } else {
    HistorySteps stored;
    if (store != nullptr) stored = TRY(store->steps_of(run.key(), listing.shown_step, kRowsMax));
    pass_over(listing, run.key(), stored.damaged_count);
    listing.shown_step = stored.last;
    for (StepView& step : stored.steps) {
      // Memory showed it.
      if (!std::ranges::binary_search(run.steps, step.id, {}, &StepView::id))
        writer.add(std::move(step));
    }
    rows = stored.row_count();
    // A full portion: there may be more.
    run.has_stored_steps = rows == kRowsMax;
  }
  if (!run.has_stored_steps) {
    listing.ready.pop_front();
    listing.is_front_shown = false;
    listing.shown_step.reset();
  }
  return rows;
}

}  // namespace

std::optional<Error> damage_of(const HistoryListing& listing) {
  if (listing.damaged_count == 0) return std::nullopt;
  return Error{
      ErrorCode::kCorruption,
      fmt::format("{} of history cannot be read and {} not shown",
                  listing.damaged_count == 1 ? "one record"
                                             : fmt::format("{} records", listing.damaged_count),
                  listing.damaged_count == 1 ? "is" : "are"),
      fmt::format("{}of job {}, attempt {}; `muster check` names what is damaged",
                  listing.damaged_count == 1 ? "it is " : "the first is ",
                  listing.first_damaged.job.value(), listing.first_damaged.attempt)};
}

// Until enough rows, a full page, or so many reads that found little.
Result<std::vector<std::string>> next_pages(HistoryListing& listing, HistoryStore* store) {
  PageWriter writer;
  std::size_t rows = 0;
  int reads = 0;
  while (rows < kRowsMax && !writer.is_full()) {
    if (!listing.ready.empty()) {
      const std::size_t shown = TRY(show_front(listing, store, writer));
      rows += shown;
    } else if (listing.is_caught_up || reads++ == kReadsMax) {
      break;
    } else {
      TRY(read_on(listing, store));
    }
  }
  if (writer.is_empty()) return std::vector<std::string>();
  return std::move(writer).finish();
}

}  // namespace muster
