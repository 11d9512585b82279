#!/usr/bin/env bash
# Both commands of README.md on a bare Debian 12: debootstrap makes one below /var/tmp with git and make and nothing
# else, clones what is committed here, and runs `make demo` and `make test` in it, each with its time.
#   fresh.sh [demo]    demo: the first of them alone
# Needs root and debootstrap. How this machine reaches its package mirrors holds there, too. What is made is removed at
# the end, unless KEEP=1; a run that is interrupted ends with all its processes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "fresh: run it as root: it makes a system of its own" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh: apt-get install debootstrap" >&2; exit 1; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "fresh: what is not committed is left out" >&2

root=$(mktemp -d /var/tmp/muster-fresh.XXXXXX)
finish() { [ "${KEEP:-0}" = 1 ] && echo "fresh: kept in $root" || rm -rf --one-file-system "$root"; }
trap finish EXIT

mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v -e security -e updates | head -1)
echo "== a bare Debian 12"
time debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 ||
  { tail -20 "$root.log" >&2; exit 1; }
rm -f "$root.log"
chmod 755 "$root" # everybody's root, where mktemp made root's own
rm -f "$root/etc/apt/sources.list"
for file in /etc/apt/apt.conf.d /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/auth.conf.d /etc/apt/keyrings \
  /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  if [ -e "$file" ]; then
    mkdir -p "$root$(dirname "$file")"
    cp -aLT --remove-destination "$file" "$root$file"
  fi
done
git clone -q --no-hardlinks . "$root/root/muster"

settings=(HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS= read -r setting; do settings+=("$setting"); done < <(env | grep -iE '^(PIP_|npm_config_|https?_proxy=|no_proxy=)' || true)
commands='time make demo'
[ "${1:-}" = demo ] || commands+=' && time make test'
# A PID namespace: whatever the tests leave behind ends with it.
unshare --mount --pid --fork --kill-child bash -euc '
  mount --make-rprivate /
  mount --bind "$0" "$0"  # a root that can be mounted over, as that of every machine: supervisors bind files in it
  mount -t proc proc "$0/proc"
  mount --rbind /sys "$0/sys"
  mount --rbind /dev "$0/dev"
  # Its root in truth: in a chroot nobody may make a user namespace, as tests do.
  cd "$0"
  mkdir -p .before
  pivot_root . .before
  umount -l /.before
  rmdir /.before
  exec env -i "${@:2}" bash -c "cd /root/muster && $1"
' "$root" "$commands" "${settings[@]}"
