// Files come through the controller as tar and go straight into tar(1), never wholly into memory
// or onto another disk. A folder is made first and is printed last: a script that reads a path
// finds all files there.

#include "cli/muster/downloads.h"

#include <fmt/format.h>
#include <kj/encoding.h>
#include <signal.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "cli/lib/command_parser.h"
#include "cli/lib/session.h"
#include "cli/lib/web.h"
#include "cli/muster/unpacker.h"
#include "text/base64.h"

namespace muster::cli {
namespace {

Error not_unpacked() {
  return Error{ErrorCode::kUnavailable, "tar could not unpack the files", "it says why above"};
}

Status fetch(Web& web, const std::string& uuid, const std::string& folder) {
  Unpacker unpacker;
  // tar is started by the first bytes, when there is something to unpack.
  // An error arrives before any byte: then no folder is filled.
  bool is_started = false;
  const Status done = web.stream("/checkpoints/" + uuid, "application/x-tar",
                                 [&](std::string_view bytes) -> Status {
                                   if (!std::exchange(is_started, true))
                                     TRY(unpacker.start(folder, false));
                                   return unpacker.write(bytes);
                                 });
  // The stream broke off: files may be cut short, which tar alone would not say.
  if (!done.has_value() && is_started) {
    return fail(done.error().code, fmt::format("what is in {} is not whole", folder),
                done.error().text());
  }
  TRY(done);
  if (!unpacker.finish())
    return fail(ErrorCode::kUnavailable,
                fmt::format("what is in {} is not whole: tar could not unpack it", folder),
                "it says why above");
  return {};
}

/// Into a folder of its own, which is printed. What came to nothing leaves none.
Status download_checkpoint(Web& web, const std::string& uuid, const std::string& folder) {
  ::signal(SIGPIPE, SIG_IGN);  // tar's end is told by its status
  TRY(make_empty_folder(folder));
  Status done = fetch(web, uuid, folder);
  if (!done.has_value()) {
    std::error_code ignored;
    // remove() leaves a folder with something in it.
    std::filesystem::remove(folder, ignored);  // if it is empty
    return done;
  }
  print(folder + "\n");
  return {};
}

/// By which metric checkpoints are rated.
struct Rating {
  std::string metric;  ///< empty: the searcher's
  std::optional<bool> is_smaller_better;

  void add_to(CommandParser& parser) {
    auto by = parser.add_option(
        "--sort-by", metric,
        "the metric of the validations that decides; the searcher's if not given");
    auto smaller = parser.add_option("--smaller-is-better", is_smaller_better,
                                     "true or false: which values of it are better");
    // A metric without its direction cannot be sorted by.
    by.needs(smaller);
    smaller.needs(by);
  }
  std::string query() const {
    if (metric.empty()) return "sortByAttr=SORT_BY_SEARCHER_METRIC";
    return fmt::format("sortByMetric={}&orderBy={}",
                       kj::encodeUriComponent(kj::StringPtr(metric.c_str())).cStr(),
                       *is_smaller_better ? "ORDER_BY_ASC" : "ORDER_BY_DESC");
  }
};

/// Which checkpoints are meant.
struct Wanted {
  std::string path;
  bool is_rated = true;  ///< only those that the metric has a value for
  std::string metric;    ///< empty: the searcher's
};

bool has_value(const Json& checkpoint, const std::string& metric) {
  // The API lists checkpoints without a value as well: they are no answer to which is best.
  const Json* training = checkpoint.find("training");
  const Json* validation = training == nullptr ? nullptr : training->find("validationMetrics");
  const Json* values = validation == nullptr ? nullptr : validation->find("avgMetrics");
  const Json* value = training == nullptr ? nullptr
                      : metric.empty()    ? training->find("searcherMetric")
                      : values == nullptr ? nullptr
                                          : values->find(metric);
  return value != nullptr && value->number().has_value();
}

Result<std::vector<std::string>> uuids_of(Web& web, const Wanted& wanted) {
  std::vector<std::string> uuids;
  const std::vector<Json> found = items_of(TRY(web.get(wanted.path)), "checkpoints");
  for (const Json& one : found) {
    if (!wanted.is_rated || has_value(one, wanted.metric)) uuids.push_back(text_of(one, "uuid"));
  }
  if (!uuids.empty()) return uuids;
  if (found.empty())
    return fail(ErrorCode::kNotFound, "there is no whole checkpoint", "see muster checkpoint list");
  // There are checkpoints, only none that the question applies to.
  return fail(ErrorCode::kNotFound,
              fmt::format("no checkpoint has a value of {}",
                          wanted.metric.empty() ? "the searcher's metric" : wanted.metric),
              "muster trial describe --metrics-summary shows the metrics; muster checkpoint "
              "download takes any");
}

Status download_wanted(Session& session, const Wanted& wanted, const std::string& folder,
                       bool has_own_folders) {
  Web web(session);
  TRY(web.open());
  for (const std::string& uuid : TRY(uuids_of(web, wanted))) {
    TRY(download_checkpoint(web, uuid,
                            has_own_folders ? fmt::format("{}/{}", folder, uuid) : folder));
  }
  return {};
}

Status download_code(Session& session, std::uint32_t number, const std::string& folder) {
  Web web(session);
  TRY(web.open());
  const Json answer = TRY(web.get(fmt::format("experiments/{}/model_def", number)));
  const std::string archive = TRY(parse_base64(text_of(answer, "b64Tgz")));
  // Code need not have been sent.
  if (archive.empty())
    return fail(ErrorCode::kNotFound, fmt::format("experiment {} has no code", number),
                "its trials run in the folder in which it was created");
  ::signal(SIGPIPE, SIG_IGN);
  TRY(make_empty_folder(folder));
  Unpacker unpacker;
  TRY(unpacker.start(folder, true));
  TRY(unpacker.write(archive));
  if (!unpacker.finish()) return fail(not_unpacked());
  print(folder + "\n");
  return {};
}

int ended(const Console& console, const Status& done) {
  return done.has_value() ? 0 : console.fail(done.error());
}

}  // namespace

int run_checkpoint_download(const Words& words) {
  std::string uuid;
  std::string folder;
  CommandParser parser(
      "Downloads the files of a checkpoint through the controller: a job of their owner's reads "
      "them where they lie.",
      "muster checkpoint download");
  parser.add_option("UUID", uuid, "its own").required();
  parser.add_option("-o,--output", folder, "into this folder; checkpoints/UUID if not given");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster checkpoint download");
  Session session(console);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  return ended(console,
               download_checkpoint(web, uuid, folder.empty() ? "checkpoints/" + uuid : folder));
}

int run_experiment_download(const Words& words) {
  std::uint32_t number = 0;
  std::uint32_t count = 1;
  std::string folder = "checkpoints";
  Rating rating;
  CommandParser parser(
      "Downloads the best checkpoints of an experiment, each into a folder of its uuid.",
      "muster experiment download");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_option("-o,--output", folder, "into folders below this one; checkpoints if not given");
  parser.add_option("--top-n", count, "so many, the best first; 1 if not given")
      .range(1U, UINT32_MAX);
  rating.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment download");
  Session session(console);
  // Only whole ones: others have no files yet, or none any more.
  const std::string path =
      fmt::format("experiments/{}/checkpoints?states=STATE_COMPLETED&limit={}&{}", number, count,
                  rating.query());
  return ended(console, download_wanted(session, {path, true, rating.metric}, folder, true));
}

int run_experiment_download_code(const Words& words) {
  std::uint32_t number = 0;
  std::string folder;
  CommandParser parser("Downloads the code that an experiment's trials run.",
                       "muster experiment download-model-def");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_option("-o,--output", folder, "into this folder; experiment_N_model_def if not given");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment download-model-def");
  Session session(console);
  return ended(
      console,
      download_code(session, number,
                    folder.empty() ? fmt::format("experiment_{}_model_def", number) : folder));
}

int run_trial_download(const Words& words) {
  std::uint32_t number = 0;
  std::string folder;
  bool is_best = false;
  bool is_latest = false;
  Rating rating;
  CommandParser parser("Downloads a checkpoint of a trial; muster checkpoint download takes any.",
                       "muster trial download");
  parser.add_option("TRIAL", number, "its number").required();
  parser.require_one_of({parser.add_flag("--best", is_best, "the one with the best validation"),
                         parser.add_flag("--latest", is_latest, "the one with the most steps")});
  parser.add_option("-o,--output", folder, "into this folder; checkpoints/trial-N if not given");
  rating.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial download");
  // A rating would have no effect there: to refuse says so.
  if (is_latest && !rating.metric.empty())
    return console.fail({ErrorCode::kInvalidArgument, "the latest is not rated by a metric",
                         "leave out --sort-by, or give --best"});
  Session session(console);
  const std::string order =
      is_latest ? "sortByAttr=SORT_BY_BATCH_NUMBER&orderBy=ORDER_BY_DESC" : rating.query();
  const std::string path =
      fmt::format("trials/{}/checkpoints?states=STATE_COMPLETED&limit=1&{}", number, order);
  return ended(console,
               download_wanted(
                   session, {path, is_best, rating.metric},
                   folder.empty() ? fmt::format("checkpoints/trial-{}", number) : folder, false));
}

}  // namespace muster::cli
