#!/usr/bin/env bash
# `make install` and `make uninstall` into an empty folder, and beside another's sbatch.
#   install_test.sh BUILD
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
# The list of what was installed in truth is put back.
manifest=$build/install_manifest.txt
[ ! -e "$manifest" ] || cp -a "$manifest" "$work/before"
finish() {
  rm -f "$manifest"
  [ ! -e "$work/before" ] || cp -a "$work/before" "$manifest"
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "install_test: $*" >&2; exit 1; }
install_there() { DESTDIR="$work/a b" cmake --install "$build" --prefix /opt/muster >"$work/log" 2>&1; }

bin="$work/a b/opt/muster/bin"
for time in first second; do
  install_there || { cat "$work/log" >&2; fail "the $time installation failed"; }
done
[ "$(readlink "$bin/sbatch")" = muster ] || fail "sbatch is no link to muster"
"$bin/sbatch" --version | grep -q . || fail "sbatch does not run"
make -s uninstall BUILD="$build" DESTDIR="$work/a b" >/dev/null
[ -z "$(find "$work/a b" ! -type d)" ] || fail "left behind: $(find "$work/a b" ! -type d)"

install_there || fail "the third installation failed"
rm "$bin/sbatch"
echo "another's" >"$bin/sbatch"
make -s uninstall BUILD="$build" DESTDIR="$work/a b" >"$work/log"
[ "$(find "$work/a b" ! -type d)" = "$bin/sbatch" ] || fail "another's sbatch is gone, or more than that is left"
grep -q "$bin/sbatch is another program's and stays" "$work/log" || fail "nothing is said of what stays"
! install_there || fail "installed over another's sbatch"
tr -s ' \n' ' ' <"$work/log" | grep -q "bin/sbatch is another program's: move it, or choose another PREFIX" ||
  { cat "$work/log" >&2; fail "the refusal names neither the file nor the way out"; }
[ "$(cat "$bin/sbatch")" = "another's" ] || fail "another's sbatch was changed"
[ ! -e "$bin/muster" ] || fail "a refused installation wrote muster"
echo "install_test: passed"
