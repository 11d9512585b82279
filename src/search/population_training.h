// Population-based training: members train in rounds; after each the worst end and copies of the
// best, with changed hyperparameters, take their places and go on from the best ones' checkpoints.
// Source: Jaderberg et al., Population based training of neural networks, arXiv 1711.09846, 2017
// (exploit by truncation, explore by perturbation or resampling); settings as in Determined up to
// 0.17, pbt.
#pragma once

#include <map>

#include "search/method.h"
#include "search/rungs.h"

namespace muster::search {

/// Returns hyperparameters near `hparams`: each resampled with the given probability, else
/// multiplied by 1 + factor or 1 - factor with equal chance; whole numbers rounded away from where
/// they were; all stay in their domains. Categories change only when resampled.
Json explore(const HyperSpace& space, const Json& hparams, const PopulationTraining& config,
             Rng& rng);

class PopulationMethod final : public SearchMethod {
 public:
  explicit PopulationMethod(const PopulationTraining& config) : config_(config) {}
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override { return config_.population_size; }
  double progress(double trials) const override;
  void archive(Archive& archive) override {
    archive.fields(round_, begun_, wanted_, members_, results_, gone_, reports_);
  }

 private:
  /// A run of this round that has not been asked for: a member that goes on, or a copy of `source`.
  struct Wanted {
    TrialIndex source;
    bool is_copy = false;
    void archive(Archive& archive) { archive.fields(source, is_copy); }
  };
  struct Member {
    Json hparams;
    std::uint32_t first_round = 0;
    void archive(Archive& archive) { archive.fields(hparams, first_round); }
  };
  std::uint64_t target_of(const Member& member) const;
  void arrive(RungEntry entry, std::vector<StopTrial>& stops);
  void end_round(std::vector<StopTrial>& stops);

  PopulationTraining config_;
  std::uint32_t round_ = 0;
  std::uint32_t begun_ = 0;  ///< members of the first round
  std::vector<Wanted> wanted_;
  std::map<TrialIndex, Member> members_;
  std::vector<RungEntry> results_;  ///< of this round, best first
  std::vector<TrialIndex> gone_;
  std::uint64_t reports_ = 0;
};

}  // namespace muster::search
