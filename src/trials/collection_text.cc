// Writes the job's script in two parts: one call of the Python package for everything that lies in
// S3, and a line of shell for each folder.

#include "trials/collection_text.h"

#include <algorithm>
#include <cctype>

#include "trials/trial_text.h"

namespace muster {
namespace {

constexpr std::string_view kHead = R"(#!/bin/sh
# Deletes checkpoints that are kept no longer.
status=0
remove() {
  if [ -e "$1" ] || [ -L "$1" ]; then
    rm -rf -- "$1.partial"
    mv -T -- "$1" "$1.partial" || { status=1; return; }
  fi
  rm -rf -- "$1.partial" || status=1
}
)";
constexpr std::size_t kNameMax = 64;

}  // namespace

std::string collection_script(const ExperimentSpec& spec, const Doomed& doomed) {
  std::string script(kHead);
  if (!doomed.uuids.empty()) {
    // The keys to the bucket are in the variable rather than among the arguments, which every user
    // of the node could read in ps.
    script += "MUSTER_CHECKPOINT_STORAGE=" + shell_quoted(s3_settings(spec)) +
              " python3 -m muster.core.collection";
    for (const std::string& uuid : doomed.uuids) script += " " + shell_quoted(uuid);
    // A checkpoint that cannot be deleted must not keep the folders: only the exit status says so.
    script += " || status=1\n";
  }
  for (const std::string& folder : doomed.folders)
    script += "remove " + shell_quoted(folder) + "\n";
  return script + "exit $status\n";
}

void add_checkpoint(Doomed& doomed, const ExperimentSpec& spec, TrialId trial,
                    const std::string& uuid) {
  if (!s3_settings(spec).empty()) return doomed.uuids.push_back(uuid);
  doomed.folders.push_back(checkpoint_root(spec) + "/" + uuid);
  doomed.folders.push_back(trial_folder(spec, trial) + "/checkpoints/" + uuid);
}

bool is_checkpoint_name(std::string_view uuid) {
  return !uuid.empty() && uuid.size() <= kNameMax && std::ranges::all_of(uuid, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-';
  });
}

}  // namespace muster
