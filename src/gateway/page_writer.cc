// Sizes are estimated while views are added, since encoding twice would cost more than a page that
// is somewhat off.
#include "gateway/page_writer.h"

#include <memory>

#include "records/page_codec.h"
#include "text/utf8.h"

namespace muster {
namespace {

constexpr std::size_t kPageBytes = std::size_t{1} << 20;
/// Of a row whose texts are longer than this together, each is cut to kTextMax.
constexpr std::size_t kRowTextsMax = std::size_t{1} << 20;
constexpr std::size_t kTextMax = std::size_t{16} << 10;
constexpr std::string_view kCut = "...(cut)";

// What a view has beside its texts, about.
constexpr std::size_t kRowBytes = 256;
constexpr std::size_t kViewBytes = 512;

void cut(std::string& text) {
  if (text.size() <= kTextMax) return;
  text.resize(utf8_prefix(text, kTextMax - kCut.size()).size());
  text += kCut;
}

template <class Key>
TextPack<Key> cut(const TextPack<Key>& pack) {
  TextPack<Key> shorter = pack;
  for (unsigned i = 0; i < TextPack<Key>::kSize; ++i) {
    const auto key = static_cast<Key>(i);
    std::string text(pack.get(key));
    if (text.size() <= kTextMax) continue;
    cut(text);
    shorter.set(key, text);
  }
  return shorter;
}

std::size_t texts_of(const JobView& job) {
  return (job.spec == nullptr ? 0 : job.spec->text.buffer().size()) + job.detail.size() +
         job.dependency.size() + job.node_list.size() + job.planned_node_list.size() +
         job.array_remaining.size() + job.std_out.size() + job.std_err.size() + job.std_in.size();
}
std::size_t texts_of(const StepView& step) {
  return (step.spec == nullptr ? 0 : step.spec->text.buffer().size()) + step.name.size() +
         step.node_list.size() + step.detail.size();
}

}  // namespace

void PageWriter::count(std::size_t bytes) {
  bytes_ += bytes;
  // The view that reaches the bound is on the page: a page has one view at least.
  if (bytes_ < kPageBytes) return;
  pages_.push_back(records::encode_page(std::exchange(page_, {}), detail_));
  bytes_ = 0;
}

void PageWriter::add(JobView job) {
  const bool is_row = detail_ == QueryDetail::kRow;
  if (texts_of(job) > kRowTextsMax) {
    if (job.spec != nullptr) {
      auto shorter = std::make_shared<JobSpec>(*job.spec);
      shorter->text = cut(job.spec->text);
      job.spec = std::move(shorter);
    }
    for (std::string* text : {&job.detail, &job.dependency, &job.array_remaining, &job.std_out,
                              &job.std_err, &job.std_in})
      cut(*text);
  }
  // A row has few of its texts.
  const std::size_t bytes = is_row ? kRowBytes + job.node_list.size() + job.detail.size() +
                                         job.dependency.size() + job.spec->name().size()
                                   : kViewBytes + texts_of(job) + job.grants.size() * kRowBytes +
                                         job.reasons.details.size() * kRowBytes;
  page_.jobs.push_back(std::move(job));
  count(bytes);
}

void PageWriter::add(StepView step) {
  if (texts_of(step) > kRowTextsMax) {
    if (step.spec != nullptr) {
      auto shorter = std::make_shared<StepSpec>(*step.spec);
      shorter->text = cut(step.spec->text);
      step.spec = std::move(shorter);
    }
    for (std::string* text : {&step.name, &step.detail}) cut(*text);
  }
  const std::size_t bytes = kViewBytes + texts_of(step);
  page_.steps.push_back(std::move(step));
  count(bytes);
}

void PageWriter::add(ExperimentView experiment) {
  const std::size_t texts = experiment.spec == nullptr
                                ? 0
                                : experiment.spec->config.size() + experiment.spec->original.size();
  const std::size_t bytes = 4 * kViewBytes + texts + experiment.labels.notes.size() +
                            experiment.labels.description.size();
  page_.experiments.push_back(std::move(experiment));
  count(bytes);
}

void PageWriter::add(TrialView trial) {
  std::size_t bytes = kViewBytes + trial.hparams.size() + trial.detail.size();
  for (const LogMatch& match : trial.log_matches) bytes += kRowBytes + match.line.size();
  page_.trials.push_back(std::move(trial));
  count(bytes);
}

void PageWriter::add(Checkpoint checkpoint) {
  const std::size_t bytes = kRowBytes + checkpoint.metadata.size() + checkpoint.resources.size();
  // Files of a checkpoint can be thousands: their list is most of it.
  page_.checkpoints.push_back(std::move(checkpoint));
  count(bytes);
}

void PageWriter::add(Document document) {
  const std::size_t bytes =
      kRowBytes + document.body.size() + document.checkpoints.size() * kRowBytes;
  page_.documents.push_back(std::move(document));
  count(bytes);
}

std::vector<std::string> PageWriter::finish() && {
  if (bytes_ > 0 || pages_.empty()) pages_.push_back(records::encode_page(page_, detail_));
  return std::move(pages_);
}

}  // namespace muster
