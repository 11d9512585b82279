#!/usr/bin/env bash
# Every test: the C++ suites by ctest, then the end-to-end tests with real processes, as root and as an ordinary user.
#   run_tests.sh BUILD CRASH_SEEDS
set -uo pipefail
build=$1
seeds=$2
failed=0

(cd "$build" && ctest --output-on-failure -LE 'slow_only' -j 2) || failed=1

run_e2e() { # NAME COMMAND...
  echo "== end to end: $1"
  shift
  "$@" || failed=1
}
export PATH="$PWD/$build/bin:$PATH"
run_e2e "the Python package" /usr/bin/python3 -m pytest python/tests -q -p no:cacheprovider
tools/test_clients.sh "$build" || failed=1
# These tests mostly wait: three files at once take the processors that are there.
run_e2e "as $(id -un)" /usr/bin/python3 -m pytest tests/e2e -q -p no:cacheprovider -n 3 --dist loadfile --seeds "$seeds"
# Once more as an ordinary user, from copies, because this folder may be closed to others.
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
  home=$(mktemp -d /tmp/muster-user.XXXXXX)
  mkdir -p "$home/bin" "$home/tests" "$home/python"
  cp -P "$build"/bin/{muster,musterd,muster-agent,muster-stepd,muster-cpp-example,sbatch,srun,salloc,squeue,sinfo,scancel,scontrol,sacct} "$home/bin"
  cp -r tests/e2e "$home/tests/"
  cp -r python/muster "$home/python/"
  cp -r examples "$home/"
  chown -R nobody "$home"
  run_e2e "as nobody" env -C "$home" setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$home" TMPDIR="$home" \
    MUSTER_BIN="$home/bin" PATH="$home/bin:/usr/local/bin:/usr/bin:/bin" \
    /usr/bin/python3 -m pytest tests/e2e -q -p no:cacheprovider -n 3 --dist loadfile -m "not root_only and not long" --seeds 2
  rm -rf "$home"
fi
exit $failed
