#!/usr/bin/env bash
# Submissions beside what is hard on the controller: all of a long queue cancelled at once, or questions about start times in a loop.
#   beside.sh BUILD cancel [JOBS]              as many as that are cancelled by one scancel; 100,000 if not given
#   beside.sh BUILD test-only [JOBS]           `sbatch --test-only` without pause, each with all of the queue to plan
set -euo pipefail
build=$(cd "$1" && pwd)
what=$2
jobs=${3:-100000}
export PATH="$build/bin:$PATH"
folder=$(mktemp -d /tmp/muster-beside.XXXXXX)
trap 'muster down --dir "$folder" > /dev/null 2>&1; rm -rf "$folder"' EXIT
muster up --dir "$folder" --nodes 4 --cpus 2 --memory 2000 --detach > /dev/null 2>&1
eval "$(muster env --dir "$folder")"
case $what in
  cancel) beside="sleep 2; scancel --state=PENDING --user=$(id -un)" ;;
  test-only) beside='for i in $(seq 1000000); do sbatch --test-only -c 2 --wrap true > /dev/null 2>&1; done' ;;
  *) echo "beside.sh: cancel or test-only" >&2; exit 2 ;;
esac
"$build/bin/latency_bench" "unix:$folder/controller.sock" --queue "$jobs" --rate 100 --seconds 20 --beside "$beside"
