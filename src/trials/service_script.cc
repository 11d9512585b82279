// Python runs a zip file that holds a __main__, and ignores what stands before the archive: the
// shell's lines and the package are one script, and no node needs the package installed.

#include "trials/service_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "text/json_text.h"
#include "trials/collection_text.h"
#include "trials/determined_text.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

constexpr std::string_view kHead = R"(#!/bin/sh
# Serves what MUSTER_SERVICE says; the program is the zip file behind these lines.
exec python3 "$0"
)";
constexpr std::size_t kNameMax = 80;

/// A folder's name of what a user called something.
std::string folder_name(std::string_view text) {
  std::string name(text.substr(0, kNameMax));
  std::ranges::replace_if(
      name,
      [](unsigned char c) {
        // Bytes from 0x80 on are UTF-8 and are kept.
        return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.' && c < 0x80;
      },
      '_');
  return name;
}

}  // namespace

std::string service_script() {
  std::string script(kHead);
  return script.append(reinterpret_cast<const char*>(detail::kServiceArchive),
                       detail::kServiceArchiveSize);
}

Json tensorboard_wish(const std::vector<TensorboardRun>& runs, Duration idle,
                      std::string_view cluster) {
  Json::Array rows;
  for (const TensorboardRun& run : runs) {
    Json::Array trials;
    for (const TrialId trial : run.trials) trials.emplace_back(trial.value());
    rows.push_back(Json::Object{
        // The number makes two experiments of one name differ.
        {"name", fmt::format("{}-{}", folder_name(run.name), run.experiment.value())},
        // Event files of Muster's package lie in the trial's folder, those of Determined's in its
        // storage: the service looks into both. {trial} is filled in by the service.
        {"folders",
         Json::Array{run.spec->run_folder + "/trial-{trial}/tensorboard",
                     fmt::format("{}/{}/tensorboard/experiment/{}/trial/{{trial}}",
                                 storage_folder(*run.spec), cluster, run.experiment.value())}},
        {"trials", std::move(trials)}});
  }
  return Json::Object{
      {"kind", "tensorboard"}, {"idle_seconds", idle.seconds()}, {"runs", std::move(rows)}};
}

Json checkpoint_wish(const ExperimentSpec& spec, TrialId trial, const std::string& uuid) {
  // The folders are the ones that deletion would remove.
  Doomed places;
  add_checkpoint(places, spec, trial, uuid);
  Json::Array folders;
  for (const std::string& folder : places.folders) folders.emplace_back(folder);
  return Json::Object{{"kind", "checkpoint"},
                      {"uuid", uuid},
                      {"storage", s3_settings(spec)},
                      {"folders", std::move(folders)}};
}

std::string with_service(std::string environment, const Json& wish) {
  // A client may have left out the last NUL.
  if (!environment.empty() && environment.back() != '\0') environment.push_back('\0');
  return environment.append("MUSTER_SERVICE=").append(json_text(wish)).append(1, '\0');
}

}  // namespace muster
