// Writes objects as scontrol shows them: "Key=Value" words on lines. There is one function for each
// kind of object.
#pragma once

#include <string>
#include <vector>

#include "cli/lib/local_zone.h"
#include "model/view.h"

namespace muster::cli {

/// Gathers words into lines; a record ends with an empty line.
class Record {
 public:
  /// Adds a further word to the present line.
  template <class T>
  Record& add(std::string_view key, const T& value) {
    return word(fmt_word(key, value));
  }
  /// Begins the next line.
  Record& line() {
    is_line_begun_ = true;
    return *this;
  }
  /// Returns "a=1 b=2\n   c=3\n\n", or all on one line and a line feed.
  std::string text(bool is_one_line) const;

 private:
  static std::string fmt_word(std::string_view key, std::string_view value);
  static std::string fmt_word(std::string_view key, std::uint64_t value);
  static std::string fmt_word(std::string_view key, std::uint32_t value) {
    return fmt_word(key, std::uint64_t{value});
  }
  static std::string fmt_word(std::string_view key, const std::string& value) {
    return fmt_word(key, std::string_view(value));
  }
  static std::string fmt_word(std::string_view key, const char* value) {
    return fmt_word(key, std::string_view(value));
  }
  Record& word(std::string word);

  std::vector<std::string> lines_;
  bool is_line_begun_ = true;
};

/// Returns the record of a job. `detail`: -d, with devices and CPUs per node.
std::string job_record(const JobView& job, const ShowContext& context, bool has_detail,
                       bool is_one_line);
std::string step_record(const StepView& step, const ShowContext& context, bool is_one_line);
std::string node_record(const NodeView& node, const ShowContext& context, bool has_detail,
                        bool is_one_line);
std::string partition_record(const PartitionView& partition, bool is_one_line);
std::string config_text(const ClusterSettings& settings, const ShowContext& context);

}  // namespace muster::cli
