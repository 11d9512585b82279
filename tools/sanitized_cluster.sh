#!/usr/bin/env bash
# Real work through a controller built with ThreadSanitizer or AddressSanitizer: its threads, their channels and
# followers. Fails when a test does or the sanitizer reports anything.
#   sanitized_cluster.sh RELEASE_BUILD SANITIZED_BUILD
set -euo pipefail
release=$1/bin
sanitized=$PWD/$2
programs=$sanitized/cluster
reports=$sanitized/report

rm -rf "$programs" "$reports".*
mkdir -p "$programs"
cp -P "$release"/{muster,muster-agent,muster-stepd,sbatch,srun,salloc,squeue,sinfo,scancel,scontrol,sacct} "$programs"
cp "$sanitized/bin/musterd" "$programs"

export TSAN_OPTIONS="log_path=$reports exitcode=0 history_size=4 second_deadlock_stack=1 suppressions=$PWD/tools/tsan.supp"
# What a daemon still holds when it is replaced or killed is no leak.
export ASAN_OPTIONS="log_path=$reports detect_leaks=0"
export UBSAN_OPTIONS="print_stacktrace=1"
MUSTER_BIN=$programs PATH="$programs:$PATH" /usr/bin/python3 -m pytest tests/e2e/test_commands.py tests/e2e/test_restart.py \
  tests/e2e/test_batch.py tests/e2e/test_operations.py tests/e2e/test_http.py tests/e2e/test_experiment.py tests/e2e/test_logs.py \
  tests/e2e/test_lifecycle.py tests/e2e/test_output.py tests/e2e/test_custom_search.py tests/e2e/test_elastic.py tests/e2e/test_services.py \
  tests/e2e/test_moving.py -q -p no:cacheprovider
if compgen -G "$reports.*" > /dev/null; then
  cat "$reports".*
  echo "the sanitizer reported faults: see above" >&2
  exit 1
fi
echo "the sanitizer reported nothing"
