// Views on pages that a reader can take: as many as fit a mebibyte or so, however long each is.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/view.h"

namespace muster {

/// Collects views and encodes a page whenever it is full. Of a job or step whose texts alone would
/// fill a page, each long text is cut and says so: one such row must not keep anybody from reading
/// the others.
class PageWriter {
 public:
  explicit PageWriter(QueryDetail detail = QueryDetail::kFull) : detail_(detail) {}

  void add(JobView job);
  void add(StepView step);
  void add(ExperimentView experiment);
  void add(TrialView trial);
  void add(Checkpoint checkpoint);
  void add(Document document);
  /// Nothing was added.
  bool is_empty() const { return bytes_ == 0 && pages_.empty(); }
  /// A page has been filled.
  bool is_full() const { return !pages_.empty(); }
  /// Encodes what is left. At least one page, which is empty only when nothing was added.
  std::vector<std::string> finish() &&;

 private:
  void count(std::size_t bytes);

  QueryDetail detail_;
  Page page_;
  std::size_t bytes_ = 0;  ///< about what the page will have
  std::vector<std::string> pages_;
};

}  // namespace muster
