#!/usr/bin/env bash
# Measures Muster, beside Debian's Slurm where it can be compared, and prints a table. Asserts results before times.
#   run.sh BUILD [--quick] [--no-slurm] [--only NAME,...] [--idle-timeout SECONDS] [--markdown FILE]
# Installs slurm-wlm and munge where they are missing (needs root or sudo); without them it measures Muster alone.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:---help}" in
  -h | --help) exec env PYTHONPATH=bench /usr/bin/python3 -m compare --help ;;
esac

is_wanted() { [[ " $* " != *" --no-slurm "* ]]; }
is_there() {
  local program
  for program in munged slurmctld slurmd sbatch; do
    [ -x "/usr/sbin/$program" ] || [ -x "/usr/bin/$program" ] || return 1
  done
}

# The packages would start daemons of their own where init runs; what we measure starts its own in a temporary folder.
install_slurm() ( # in a shell of its own, so that its end takes the policy away again
  local as_root=() policy=/usr/sbin/policy-rc.d
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || exit 1
    as_root=(sudo)
  fi
  echo "bench: installing Debian's slurm-wlm and munge to compare with"
  export DEBIAN_FRONTEND=noninteractive
  if [ ! -e "$policy" ]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy" || exit 1
  fi
  "${as_root[@]}" apt-get update -qq >/dev/null || exit 1
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null || exit 1
)

if is_wanted "$@" && ! is_there; then
  rc=0
  install_slurm || rc=$?
  [ "$rc" -ne 130 ] || exit 130
  [ "$rc" -eq 0 ] || echo "bench: Slurm cannot be installed here: measuring Muster alone" >&2
fi
build=$(realpath "$1")
shift
export PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -m compare --build "$build" "$@"
