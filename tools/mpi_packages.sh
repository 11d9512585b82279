#!/usr/bin/env bash
# Open MPI and MPICH of Debian, for the tests that start them in an allocation: installs what is missing where it may, else fails.
# They are no part of tools/setup.sh, for nothing else needs their 130 MB.
set -euo pipefail
packages=(gcc openmpi-bin libopenmpi-dev mpich libmpich-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || { echo "mpi_packages: only root can install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "mpi_packages: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
