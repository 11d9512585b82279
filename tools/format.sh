#!/usr/bin/env bash
# The form of all C++: clang-format with .clang-format.
#   format.sh           writes it
#   format.sh --check   says which lines differ; exit 1 when any does
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo "format: clang-format is not here; tools/setup.sh test installs it" >&2; exit 1; }
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run -Werror)
find src sim fuzz bench tests cpp examples -name '*.cc' -o -name '*.h' -o -name '*.hpp' |
  xargs -P "$(nproc)" -n 60 clang-format "${mode[@]}"
