#!/usr/bin/env bash
# clang-tidy on the files that differ from the last commit (or from BASE), where it is installed.
set -euo pipefail
build=$1
command -v clang-tidy >/dev/null || { echo "lint: clang-tidy is not installed; skipped"; exit 0; }
mapfile -t files < <(git diff --name-only --diff-filter=d "${BASE:-HEAD}" -- 'src/*.cc' 'sim/*.cc')
[ ${#files[@]} -eq 0 ] && exit 0
clang-tidy -p "$build" --quiet "${files[@]}"
