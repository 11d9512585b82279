#!/usr/bin/env bash
# clang-tidy on the files that differ from the last commit (or from BASE), where it is installed. It reads the commands of a build of its
# own, in which each source is compiled alone.
set -euo pipefail
build=$1
command -v clang-tidy >/dev/null || { echo "lint: clang-tidy is not installed; skipped"; exit 0; }
mapfile -t files < <(git diff --name-only --diff-filter=d "${BASE:-HEAD}" -- 'src/*.cc' 'sim/*.cc')
[ ${#files[@]} -eq 0 ] && exit 0
cmake --preset release -B "$build/lint" -DMUSTER_UNITY=OFF -DMUSTER_PRECOMPILED=OFF >/dev/null
cmake --build "$build/lint" --target records_schema >/dev/null
clang-tidy -p "$build/lint" --quiet "${files[@]}"
