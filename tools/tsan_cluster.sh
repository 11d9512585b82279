#!/usr/bin/env bash
# Real work through a controller built with ThreadSanitizer: its threads, their channels and followers. Fails when a test
# does or a race is reported.
#   tsan_cluster.sh RELEASE_BUILD TSAN_BUILD
set -euo pipefail
release=$1/bin
tsan=$PWD/$2
programs=$tsan/cluster
reports=$tsan/report

rm -rf "$programs" "$reports".*
mkdir -p "$programs"
cp -P "$release"/{muster,muster-agent,muster-stepd,sbatch,srun,salloc,squeue,sinfo,scancel,scontrol,sacct} "$programs"
cp "$tsan/bin/musterd" "$programs"

export TSAN_OPTIONS="log_path=$reports exitcode=0 history_size=4 second_deadlock_stack=1 suppressions=$PWD/tools/tsan.supp"
MUSTER_BIN=$programs PATH="$programs:$PATH" /usr/bin/python3 -m pytest tests/e2e/test_commands.py tests/e2e/test_restart.py \
  tests/e2e/test_batch.py tests/e2e/test_operations.py tests/e2e/test_http.py tests/e2e/test_experiment.py tests/e2e/test_logs.py \
  tests/e2e/test_lifecycle.py tests/e2e/test_output.py tests/e2e/test_custom_search.py tests/e2e/test_elastic.py tests/e2e/test_services.py \
  tests/e2e/test_moving.py -q -p no:cacheprovider
if compgen -G "$reports.*" > /dev/null; then
  cat "$reports".*
  echo "ThreadSanitizer reported races: see above" >&2
  exit 1
fi
echo "no race was reported"
