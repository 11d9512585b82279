// One cell stands for a block of a metric: its counts, its sum and the points that a plot must not
// lose. Texts are counted here and kept by SeriesTotal.
#include "store/metrics/cell.h"

#include <cmath>

namespace muster::metrics {
namespace {

/// Keeps `candidate` where it is before what is kept.
void merge_first(std::optional<NumberPoint>& kept, const std::optional<NumberPoint>& candidate) {
  if (candidate && (!kept || candidate->position < kept->position)) kept = candidate;
}
void merge_last(std::optional<NumberPoint>& kept, const std::optional<NumberPoint>& candidate) {
  if (candidate && (!kept || candidate->position > kept->position)) kept = candidate;
}
void merge_min(std::optional<NumberPoint>& kept, const std::optional<NumberPoint>& candidate) {
  if (!candidate) return;
  const bool is_better = !kept || candidate->value < kept->value ||
                         (candidate->value == kept->value && candidate->position < kept->position);
  // Of equal extremes the first by position, so that the order of adding does not show.
  if (is_better) kept = candidate;
}
void merge_max(std::optional<NumberPoint>& kept, const std::optional<NumberPoint>& candidate) {
  if (!candidate) return;
  const bool is_better = !kept || candidate->value > kept->value ||
                         (candidate->value == kept->value && candidate->position < kept->position);
  if (is_better) kept = candidate;
}

void write_point(ByteWriter& out, const std::optional<NumberPoint>& point) {
  out.byte(point ? 1 : 0);
  if (!point) return;
  out.signed_number(point->position.steps);
  out.number(point->position.id);
  out.signed_number(point->time_us);
  out.real(point->value);
}

std::optional<NumberPoint> read_point(ByteReader& in) {
  if (in.byte() == 0) return std::nullopt;
  NumberPoint point;
  point.position.steps = in.signed_number();
  point.position.id = in.number();
  point.time_us = in.signed_number();
  point.value = in.real();
  return point;
}

}  // namespace

void Cell::add(const NumberPoint& point) {
  merge_first(first, point);
  merge_last(last, point);
  if (std::isfinite(point.value)) {
    ++finite_count;
    finite_sum += point.value;
    merge_min(min, point);
    merge_max(max, point);
    return;
    // Infinities and NaN are in no sum and no extreme: they are counted, and the first is shown.
  }
  merge_first(first_not_finite, point);
  ++(std::isnan(point.value) ? nan_count
     : point.value > 0       ? positive_infinity_count
                             : negative_infinity_count);
}

void Cell::merge(const Cell& other) {
  finite_count += other.finite_count;
  nan_count += other.nan_count;
  positive_infinity_count += other.positive_infinity_count;
  negative_infinity_count += other.negative_infinity_count;
  text_count += other.text_count;
  finite_sum += other.finite_sum;
  merge_first(first, other.first);
  merge_last(last, other.last);
  merge_min(min, other.min);
  merge_max(max, other.max);
  merge_first(first_not_finite, other.first_not_finite);
}

void Cell::write(ByteWriter& out) const {
  out.number(finite_count);
  out.number(nan_count);
  out.number(positive_infinity_count);
  out.number(negative_infinity_count);
  out.number(text_count);
  out.real(finite_sum);
  // The order is the format's.
  for (const auto* point : {&first, &last, &min, &max, &first_not_finite}) write_point(out, *point);
}

Cell Cell::read(ByteReader& in) {
  Cell cell;
  cell.finite_count = in.number();
  cell.nan_count = in.number();
  cell.positive_infinity_count = in.number();
  cell.negative_infinity_count = in.number();
  cell.text_count = in.number();
  cell.finite_sum = in.real();
  for (auto* point : {&cell.first, &cell.last, &cell.min, &cell.max, &cell.first_not_finite})
    *point = read_point(in);
  return cell;
}

void SeriesTotal::add(Position position, std::int64_t time_us, const MetricValue& value) {
  const MetricType found = type_of(value);
  // A metric that was a number and a text is mixed from then on.
  type = !type || *type == found ? found : MetricType::kMixed;
  if (const double* number = std::get_if<double>(&value)) {
    cell.add(NumberPoint{position, time_us, *number});
    return;
  }
  cell.add_text();
  // The last by position, not by arrival.
  if (cell.text_count == 1 || position > last_text_place) {
    last_text_place = position;
    last_text = std::get<JsonText>(value).text;
  }
}

void SeriesTotal::merge(const SeriesTotal& other) {
  if (!other.type) return;
  type = !type || *type == *other.type ? *other.type : MetricType::kMixed;
  if (other.cell.text_count > 0 &&
      (cell.text_count == 0 || other.last_text_place > last_text_place)) {
    last_text_place = other.last_text_place;
    last_text = other.last_text;
  }
  cell.merge(other.cell);
}

MetricSummary SeriesTotal::summary() const {
  MetricSummary summary;
  summary.type = type.value_or(MetricType::kNumber);
  summary.count = cell.number_count() + cell.text_count;
  summary.finite_count = cell.finite_count;
  summary.nan_count = cell.nan_count;
  summary.positive_infinity_count = cell.positive_infinity_count;
  summary.negative_infinity_count = cell.negative_infinity_count;
  summary.finite_sum = cell.finite_sum;
  // Without a finite number there is no extreme: 0, beside a count of 0.
  summary.finite_min = cell.min ? cell.min->value : 0;
  summary.finite_max = cell.max ? cell.max->value : 0;
  const bool is_text_last =
      cell.text_count > 0 && (!cell.last || last_text_place > cell.last->position);
  if (is_text_last) {
    summary.last = JsonText{last_text};
  } else if (cell.last) {
    summary.last = cell.last->value;
  }
  return summary;
}

void SeriesTotal::write(ByteWriter& out) const {
  cell.write(out);
  out.byte(type ? static_cast<std::uint8_t>(static_cast<int>(*type) + 1) : std::uint8_t{0});
  out.signed_number(last_text_place.steps);
  out.number(last_text_place.id);
  out.text(last_text);
  // 0 for no type, so that an empty total can be written.
}

SeriesTotal SeriesTotal::read(ByteReader& in) {
  SeriesTotal total;
  total.cell = Cell::read(in);
  const std::uint8_t type = in.byte();
  if (type > 0) total.type = static_cast<MetricType>(type - 1);
  total.last_text_place.steps = in.signed_number();
  total.last_text_place.id = in.number();
  total.last_text = in.text();
  return total;
}

}  // namespace muster::metrics
