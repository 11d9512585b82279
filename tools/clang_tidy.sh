#!/usr/bin/env bash
# clang-tidy over every source, where it is installed: clang_tidy.sh BUILD [JOBS]. It reads the commands of a build of its own (BUILD/lint),
# in which several sources of a folder are compiled at once, and remembers what it found clean there: what has not changed since, headers
# included, is not read again. The first time takes most of an hour on two cores.
set -euo pipefail
build=$(realpath "$1")
jobs=${2:-$(nproc)}
command -v clang-tidy >/dev/null || { echo "lint: clang-tidy is not installed; skipped"; exit 0; }
lint=$build/lint
cmake --preset release -B "$lint" -DMUSTER_PRECOMPILED=OFF >/dev/null
cmake --build "$lint" --target records_schema generated/service_archive.cc >/dev/null
mkdir -p "$lint/clean"

# One line for each: the source, a tab, how it is compiled.
list_sources() {
  /usr/bin/python3 - "$lint" <<'PY'
import json, shlex, sys
for entry in json.load(open(sys.argv[1] + "/compile_commands.json")):
    if "/generated/" in entry["file"]:
        continue
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if word.endswith(("c++", "g++", "clang++"))):]
    print(entry["file"], shlex.join(words[:words.index("-o")] + ["-E", "-P", entry["file"]]), sep="\t")
PY
}

# What a source is after the preprocessor and as it is written (its comments count among its lines), and by which rules it is judged: a
# header's comment that changes makes nothing new.
written() { # SOURCE: its text, and of one that CMake has put together those of its parts
  cat "$1"
  sed -n 's|^#include "\(/.*\.cc\)"$|\1|p' "$1" | xargs -r cat
}
check_one() {
  local source=${1%%$'\t'*} command=${1#*$'\t'} mark found
  mark=$lint/clean/$( (eval "$command" 2>/dev/null; written "$source"; cat .clang-tidy) | sha256sum | cut -d' ' -f1)
  [ -e "$mark" ] && return 0
  found=$mark.found.$$ # a source of several programs may be looked at twice at once
  # What is compiled at once is included by a file that CMake writes: its sources count as headers there, and being included is no fault. Of
  # g++'s own options clang says nothing; what clang calls -Wconversion has signs in it, which g++'s has not, and texts
  # are broken over lines on purpose.
  if clang-tidy -p "$lint" --quiet --header-filter='/(src|sim|bench|fuzz|tests|cpp)/.*\.(cc|h|hpp)$' \
      --checks=-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-sign-conversion --extra-arg=-Wno-string-concatenation \
      --extra-arg=-Wno-unused-command-line-argument "$source" 2>/dev/null | sed "s|$PWD/||" | tee "$found" | grep -v '^[0-9]* warning' ; then :; fi
  if grep -q 'error:' "$found"; then rm -f "$found"; return 1; fi
  mv "$found" "$mark"
}
export -f written check_one
export lint
list_sources | sort -u | tr '\n' '\0' | xargs -0 -n1 -P "$jobs" bash -c 'check_one "$1"' check
