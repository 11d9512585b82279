#include "codec/collection_text.h"

#include <algorithm>
#include <cctype>

#include "codec/trial_text.h"

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

std::string collection_script(const std::vector<std::string>& folders) {
  std::string script(kHead);
  for (const std::string& folder : folders) script += "remove " + shell_quoted(folder) + "\n";
  return script + "exit $status\n";
}

std::vector<std::string> checkpoint_folders(const ExperimentSpec& spec, TrialId trial, const std::string& uuid) {
  return {spec.run_folder.substr(0, spec.run_folder.rfind('/')) + "/" + uuid, trial_folder(spec, trial) + "/checkpoints/" + uuid};
}

bool is_checkpoint_name(std::string_view uuid) {
  return !uuid.empty() && uuid.size() <= kNameMax &&
         std::ranges::all_of(uuid, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
}

}  // namespace muster
