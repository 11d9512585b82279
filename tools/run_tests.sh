#!/usr/bin/env bash
# Every test: the C++ suites by ctest, then two rows of suites side by side, since both mostly wait: the end-to-end tests with real
# processes, as root and as an ordinary user, and beside them the Python package and other people's clients. What the second row says
# is shown when the first is over.
#   run_tests.sh BUILD CRASH_SEEDS
set -uo pipefail
build=$1
seeds=$2
failed=0

run_e2e() { # NAME COMMAND...
  echo "== end to end: $1"
  shift
  "$@" || failed=1
}
export PATH="$PWD/$build/bin:$PATH"

beside=
end_beside() { [ -z "$beside" ] || kill -TERM -- "-$beside" 2>/dev/null; }
trap end_beside EXIT
start_beside() { # LOG COMMAND...: in a process group of its own, which ends with this script
  local log=$1
  shift
  setsid "$@" >"$log" 2>&1 &
  beside=$!
}
wait_beside() { # LOG
  wait "$beside" || failed=1
  beside=
  cat "$1"
}

# What the clients' tests need comes over the network meanwhile.
start_beside "$build/clients-setup.log" tools/test_clients.sh "$build" --prepare
(cd "$build" && ctest --output-on-failure -LE 'slow_only' -j 2) || failed=1
wait "$beside" # what could not be installed is told by name when its tests are skipped
beside=

start_beside "$build/clients.log" bash -c '
  failed=0
  echo "== end to end: the Python package"
  /usr/bin/python3 -m pytest python/tests -q -p no:cacheprovider -n 2 --dist loadfile || failed=1
  tools/test_clients.sh "$0" || failed=1
  exit $failed' "$build"
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
wait_beside "$build/clients.log"
exit $failed
