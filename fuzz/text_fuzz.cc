// Every small text that a client, a script or a page of the web may hold. The first byte says
// which.
#include <array>

#include "fuzz/fuzz.h"
#include "slurm/array_text.h"
#include "slurm/binding_text.h"
#include "slurm/column_format.h"
#include "slurm/dependency_text.h"
#include "slurm/duration_text.h"
#include "slurm/environment_text.h"
#include "slurm/feature_text.h"
#include "slurm/file_pattern.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/memory_text.h"
#include "slurm/rank_layout.h"
#include "slurm/signal_text.h"
#include "slurm/spool_path.h"
#include "slurm/time_text.h"
#include "text/base64.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/printable_text.h"
#include "text/token_text.h"
#include "text/words.h"
#include "trials/config_override.h"
#include "trials/determined_text.h"
#include "trials/output_metrics.h"
#include "trials/service_text.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";

struct Reader {
  void (*read)(std::string_view text);
  std::vector<std::string_view> examples;
};

/// What is read must be read again from its own text.
void host_list(std::string_view text) {
  const auto hosts = expand_hostlist(text);
  if (!hosts.has_value()) return;
  FUZZ_EXPECT(hosts->size() <= kHostlistMax, "more hosts than a list may have");
  const auto again = expand_hostlist(compress_hostlist(*hosts));
  FUZZ_EXPECT(again.has_value() && *again == *hosts, "a host list that is not read back");
}
void array(std::string_view text) {
  const auto value = parse_array(text, 100'001);
  if (!value.has_value()) return;
  const auto again = parse_array(array_text(*value), 100'001);
  FUZZ_EXPECT(again.has_value() && *again == *value, "an array that is not read back");
}
void gres(std::string_view text) {
  (void)parse_gres_in_order(text);
  (void)parse_gpus(text);
  const auto value = parse_gres(text);
  if (!value.has_value() || value->empty()) return;
  const auto again = parse_gres(gres_text(*value));
  FUZZ_EXPECT(again.has_value() && *again == *value, "a gres that is not read back");
}
void duration(std::string_view text) {
  (void)parse_time_limit(text);
  const auto value = parse_duration(text);
  if (!value.has_value()) return;
  const auto again = parse_duration(padded_duration_text(*value));
  FUZZ_EXPECT(again.has_value() && *again == *value, "a duration that is not read back");
}
void time(std::string_view text) {
  const FixedZone zone;
  for (const TimeDirection direction : {TimeDirection::kFuture, TimeDirection::kPast}) {
    const auto value =
        parse_time(text, TimeContext{TimePoint::from_seconds(1'700'000'000), zone, direction});
    if (value.has_value()) (void)iso_time_text(*value, zone);
  }
}
void dependency(std::string_view text) {
  const auto value = parse_dependency(text);
  if (value.has_value()) (void)dependency_text(*value);
}
void format(std::string_view text) {
  (void)parse_short_format(text);
  (void)parse_accounting_format(text);
  const auto format = parse_long_format(text);
  if (!format.has_value()) return;
  for (const ColumnSpec& column : format->columns) {
    if (column.width < 10'000) (void)column_cell("a cell: \xc3\xa9", column, CutMark::kPlus);
  }
}
void json(std::string_view text) {
  const auto value = parse_json(text);
  if (!value.has_value()) return;
  const std::string written = json_text(*value);
  const auto again = parse_json(written);
  FUZZ_EXPECT(again.has_value() && json_text(*again) == written,
              "a JSON value that is not read back");
}
void base64(std::string_view text) {
  const auto value = parse_base64(text);
  if (!value.has_value()) return;
  const auto again = parse_base64(base64_text(*value));
  FUZZ_EXPECT(again.has_value() && *again == *value, "base64 that is not read back");
}
void pattern(std::string_view text) {
  FilePatternValues values;
  values.job = JobId(7);
  values.user = values.host = values.job_name = "x";
  (void)expand_file_pattern(text, values);
  (void)file_scope(text);
  (void)is_gathered(text);
}
void printed(std::string_view text) {
  (void)parse_printed_report(text);
  (void)printable(text);
}
void override(std::string_view text) {
  Json config =
      parse_json(R"({"searcher": {"name": "single", "max_time": 3}, "list": [1, {"a": 2}]})")
          .value();
  (void)apply_override(config, text);
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders = {
      {host_list, {"n[0-3,7],m", "rack[1-2]-node[01-10]", "a", "n-[0-17].svc"}},
      {array, {"1-10:2%3", "0,5,7-9", "0-99"}},
      {gres, {"gpu:h100:2,nic:1", "gpu", "gpu:4(S:0-1)", "gres=4"}},
      {duration, {"1-02:03:04", "90", "10:30", "infinite"}},
      {time, {"now+1hour", "2026-08-03T10:00:00", "tomorrow", "10:30pm", "08/03/26-10:00"}},
      {dependency, {"afterok:1:2?after:3+5", "singleton", "aftercorr:9,afterany:10"}},
      {format, {"%.18i %9P %j", "JobID:10,Name:.20,x:,", "JobID%-20,State%10"}},
      {json, {R"({"a": [1, 2.5, null, true, "\u00e9"], "b": {}})", "1e400", "-0"}},
      {base64, {"aGVsbG8=", ""}},
      {pattern, {"slurm-%j.out", "%A_%4a-%N.%t-%%", "\\%j"}},
      {printed, {"loss=0.3 step=7", R"({"loss": 0.3, "epoch": 2})", "epoch 3: accuracy: 0.97"}},
      {override, {"searcher.max_time=7", "list.0=x", "a.b.c={d: 1}"}},
      {[](std::string_view text) { (void)parse_memory(text); }, {"4G", "1024", "1T"}},
      {[](std::string_view text) { (void)parse_features(text); }, {"a&b", "[a|b]*2", "(x&y)|z"}},
      {[](std::string_view text) {
         (void)parse_signal_option(text);
         (void)parse_signal(text);
       },
       {"B:USR1@60", "R:15", "SIGTERM"}},
      {[](std::string_view text) { (void)parse_distribution(text); },
       {"block:cyclic:fcyclic,Pack", "plane=4", "arbitrary"}},
      {[](std::string_view text) {
         (void)parse_cpu_bind(text);
         (void)parse_gpu_bind(text);
       },
       {"verbose,map_cpu:0,2,4", "mask_cpu:0x3,0xc", "rank_ldom", "single:2", "map_gpu:0,1"}},
      {[](std::string_view text) {
         (void)apply_export(text, {"A=1", "B=2"});
         (void)parse_environment(text);
       },
       {"ALL,A=3,C", "NONE", std::string_view("A=1\0B=2", 7)}},
      {[](std::string_view text) {
         (void)parse_token(text, kKey, TimePoint::from_seconds(1));
         (void)expiry_in(text);
       },
       {"v1.a.b", "muster-1-2-3"}},
      {[](std::string_view text) {
         (void)parse_service_name("c", text);
         (void)parse_proxy_target(text);
         (void)parse_task_name(text);
         (void)parse_service_ticket(text, kKey, TimePoint::from_seconds(1));
       },
       {"/proxy/1.b8f635ed-7cca-46ec-86ec-000000000001/a?b=c",
        "1.b8f635ed-7cca-46ec-86ec-000000000001"}},
      {[](std::string_view text) { (void)parse_output_file(text); }, {"trial.1.run.2.rank.3.out"}},
      {[](std::string_view text) {
         (void)parse_whole(text);
         (void)parse_whole32(text);
       },
       {"18446744073709551615", "0"}},
  };
  return kReaders;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < readers().size(); ++i) {
    for (const std::string_view example : readers()[i].examples)
      all.push_back(static_cast<char>(i) + std::string(example));
  }
  return all;
}

void read_text(std::string_view input) {
  if (input.empty()) return;
  readers()[static_cast<unsigned char>(input[0]) % readers().size()].read(input.substr(1));
}

}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::read_text(muster::fuzz::bytes_of(data, size));
  return 0;
}
