#!/usr/bin/env bash
# Removes what the last `make install` wrote. A command that has taken the place of one of its links stays.
#   uninstall.sh BUILD [DESTDIR]
set -euo pipefail
manifest=$1/install_manifest.txt
[ -f "$manifest" ] || { echo "uninstall: nothing was installed from here" >&2; exit 1; }
while IFS= read -r path || [ -n "$path" ]; do
  file=${2:-}$path
  case ${path##*/} in
    sbatch | srun | salloc | squeue | sinfo | scancel | scontrol | sacct)
      if { [ -e "$file" ] || [ -L "$file" ]; } && [ "$(readlink "$file")" != muster ]; then
        echo "uninstall: $file is another program's and stays"
        continue
      fi
      ;;
  esac
  rm -fv "$file"
done <"$manifest"
