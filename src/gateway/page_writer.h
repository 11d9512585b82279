// Encodes the views of one answer as pages that a reader can hold: each of about a mebibyte.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/view.h"

namespace muster {

/// Collects views and encodes a page whenever a mebibyte, by estimate, has gathered; the view that
/// reaches it is still on that page. In a job or step whose texts are longer than a mebibyte
/// together, each text beyond 16 KiB (but no node list) is cut to that and ends in "...(cut)", so
/// that one such row does not make the others unreadable. Other views are never cut. Used once:
/// add() any number of times, then finish().
class PageWriter {
 public:
  /// `detail` concerns jobs alone, as in encode_page().
  explicit PageWriter(QueryDetail detail = QueryDetail::kFull) : detail_(detail) {}

  /// Adds a view. Requires with kRow: the job has a specification.
  void add(JobView job);
  void add(StepView step);
  void add(ExperimentView experiment);
  void add(TrialView trial);
  void add(Checkpoint checkpoint);
  void add(Document document);
  /// True when nothing was added yet.
  bool is_empty() const { return bytes_ == 0 && pages_.empty(); }
  /// True from when at least one page has been filled: the caller of a long list stops here.
  bool is_full() const { return !pages_.empty(); }
  /// Encodes what is left and returns all pages in order: at least one, which is empty only when
  /// nothing was added.
  std::vector<std::string> finish() &&;

 private:
  void count(std::size_t bytes);

  QueryDetail detail_;
  Page page_;
  std::size_t bytes_ = 0;  ///< about what the page will have
  std::vector<std::string> pages_;
};

}  // namespace muster
