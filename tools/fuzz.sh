#!/usr/bin/env bash
# Runs every fuzz target under libFuzzer, AddressSanitizer and UBSan: two at a time, all in MINUTES together, going on from what earlier runs found to be of interest
# (build/fuzz/corpus). What ends a target is left in build/fuzz/found, and the exit code is 1.
#   fuzz.sh RELEASE_BUILD MINUTES [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
release=$1
minutes=$2
shift 2

if ! command -v clang++-16 >/dev/null; then
  echo "fuzz: installing clang-16"
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends clang-16 libclang-rt-16-dev >/dev/null
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for program in "$release"/bin/fuzz_*; do targets+=("${program##*/fuzz_}"); done
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

work=build/fuzz
mkdir -p "$work/found"
# kj keeps objects that must lie on the stack, which AddressSanitizer's look at returned frames moves to the heap.
export ASAN_OPTIONS=detect_stack_use_after_return=0
seconds=$((minutes * 60 * 2 / ${#targets[@]}))
[ "$seconds" -ge 1 ] || seconds=1
run_one() { # TARGET
  local target=$1
  local corpus=$work/corpus/$target
  mkdir -p "$corpus"
  "$release/bin/fuzz_$target" -write_seeds="$corpus" >/dev/null
  # Leaks are looked for at the end alone: each input would be run twice otherwise.
  if "$work/bin/fuzz_$target" "$corpus" -max_total_time="$seconds" -max_len=65536 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="$work/found/$target-" >"$work/$target.log" 2>&1; then
    printf '%-16s %10s inputs, %6s of interest: none was a fault\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log")" \
      "$(find "$corpus" -type f | wc -l)"
  else
    printf '%-16s FOUND SOMETHING: %s, input in %s/found\n' "$target" "$work/$target.log" "$work"
    return 1
  fi
}
export -f run_one
export release work seconds
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c 'run_one {}'
