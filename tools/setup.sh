#!/usr/bin/env bash
# Installs what is needed and not there: Debian 12 packages only.
#   setup.sh        for the programs and the demo
#   setup.sh test   for the tests, too
set -euo pipefail

packages=(
  # building
  g++ cmake ninja-build ccache pkg-config capnproto libcapnp-dev libsoci-dev libsqlite3-dev libhwloc-dev
  libfmt-dev libyaml-cpp-dev libexpected-dev libcli11-dev libssl-dev zlib1g-dev libjemalloc-dev libzstd-dev libre2-dev
  nlohmann-json3-dev libarchive-dev
  # the demo trains a real model, and README.md installs Determined's command
  python3 python3-venv python3-torch python3-sklearn python3-numpy procps
)
if [ "${1:-}" = test ]; then
  packages+=(libgtest-dev libgmock-dev clang-format python3-pytest python3-pytest-xdist sqlite3 curl)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: run as root, or install sudo: missing ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
