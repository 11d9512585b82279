// The replica that answers reads. It follows the durable log, so that clients read what they wrote,
// and costs the core nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/history_listing.h"
#include "gateway/job_listing.h"
#include "gateway/user_index.h"
#include "model/view.h"
#include "state/cluster_state.h"
#include "workload/planning/plan_report.h"

namespace muster {

/// What the core knows of nodes beside the state; it is sent from time to time.
struct NodeLoad {
  TimePoint last_contact;
  std::uint32_t load_hundredths = 0;
  std::uint64_t free_memory_mib = 0;
};

/// The encoded pages of an answer, which all share who ask the same at the same sequence number.
using Pages = std::shared_ptr<const std::vector<std::string>>;

/// A slice of a long answer.
struct ListSlice {
  Pages pages;           ///< null: there was nothing to show
  std::size_t cost = 0;  ///< in jobs shown
};

class QueryReplica {
 public:
  explicit QueryReplica(std::string host, std::string version, std::string http_address = {})
      : host_(std::move(host)),
        version_(std::move(version)),
        http_address_(std::move(http_address)) {}

  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Sets when the controller was started, for `scontrol show config`.
  void set_boot_time(TimePoint time) { boot_time_ = time; }
  void apply(const EventBatch& batch);
  void set_report(std::shared_ptr<const PlanReport> report);
  void set_node_loads(std::vector<NodeLoad> loads);
  /// Sets what `scontrol ping` warns of; empty: nothing.
  void set_clock_warning(std::string text);
  void set_disk_warning(std::string text);
  void set_http_warning(std::string text);

  /// Answers every kind but kJobs, kSteps, kHistory and kBatchScript. Errors: kNotFound where what
  /// is named is not there. Cost: O(objects looked at); nothing when the same was asked since the
  /// last change. `reader`: keys in configurations are shown to their owners alone.
  Result<Pages> answer(const Identity& reader, const Query& query);

  // Begins a list. Jobs and their steps come slice by slice, because there may be very many.
  // Errors: kNotFound "Invalid job id specified" when exactly one job is named and it is not there.
  Result<JobListing> begin_list(const JobFilter& filter);
  /// Begins a list on which only history has something.
  JobListing begin_nothing() const { return JobListing(state_.next_job(), std::vector<JobId>{}); }
  /// Makes the next slice of kJobs or kSteps. `reasons`: what is known beyond the last plan of why
  /// jobs wait. Requires: the list is not done. Cost: at most kShownMax jobs shown, or a page full,
  /// and kLookedMax looked at; less when the same was asked since the last change.
  ListSlice next_slice(const Query& query, JobListing& listing,
                       const std::map<JobId, Reasons>& reasons = {});
  /// Adds the next jobs that match and wait, until there are `count_max`. Returns the cost, as
  /// above.
  std::size_t add_waiting(const JobFilter& filter, JobListing& listing, std::size_t count_max,
                          std::vector<JobId>& waiting);
  /// Adds what memory has of the next jobs that a list for sacct may show. Returns the cost, as
  /// above.
  std::size_t read_live(HistoryListing& listing);
  static constexpr std::size_t kShownMax = 256;
  static constexpr std::size_t kLookedMax = 4096;

  JobView job_view(const Job& job, QueryDetail detail) const;

 private:
  JobView job_view(const Job& job, QueryDetail detail, const Reasons* reasons) const;
  struct Cached {
    Pages pages;
    std::uint64_t change = 0;
  };
  struct CachedSlice {
    ListSlice slice;
    JobId end;  ///< where the list stands behind it
  };
  Result<std::vector<JobId>> named_ids(const JobFilter& filter) const;
  std::size_t walk(const JobFilter& filter, JobListing& listing,
                   const std::function<bool(const Job&)>& visit);
  ListSlice make_slice(const Query& query, JobListing& listing,
                       const std::map<JobId, Reasons>& reasons);
  void remember(std::string key, CachedSlice made);
  std::vector<std::string> node_pages() const;
  Result<std::vector<std::string>> experiment_pages(const Identity& reader,
                                                    const Query& query) const;
  Result<std::vector<std::string>> trial_pages(const Identity& reader, const Query& query) const;
  Result<std::vector<std::string>> checkpoint_pages(const Identity& reader,
                                                    const Query& query) const;
  Result<std::vector<std::string>> document_pages(const Query& query) const;
  Result<std::vector<TrialId>> trials_of(const Query& query) const;
  std::string one_page(const Query& query) const;

  TimePoint boot_time_;
  std::string host_;
  std::string version_;
  std::string http_address_;
  ClusterState state_;
  UserIndex users_;
  std::shared_ptr<const PlanReport> report_;
  std::vector<NodeLoad> node_loads_;
  std::string clock_warning_;
  std::string disk_warning_;
  std::string http_warning_;
  std::map<std::string, Cached> cache_;
  /// The slices by query and by where they begin, as of `slices_change_`.
  std::map<std::string, CachedSlice> slices_;
  std::uint64_t slices_change_ = 0;
  std::size_t slice_bytes_ = 0;
  std::uint64_t change_ = 1;        ///< rises with everything that can change an answer
  std::uint64_t loads_change_ = 1;  ///< rises with what only answers about nodes show
};

}  // namespace muster
