#!/usr/bin/env bash
# Makes a virtual environment over the system's packages, Debian's torch among them, and prints where it is. Nothing is done
# when it is there and belongs to today's requirements.
#   venv.sh FOLDER REQUIREMENTS IMPORTS     IMPORTS: what must be importable, as Python has it
set -euo pipefail
folder=$1 requirements=$2 imports=$3
if ! cmp -s "$requirements" "$folder/requirements.txt"; then
  /usr/bin/python3 -m venv --system-site-packages "$folder"
  # Without dependencies, for those would bring another torch, clouds and Docker.
  "$folder/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$requirements" >&2
  "$folder/bin/python" -c "import $imports" >&2
  cp "$requirements" "$folder/requirements.txt"
fi
echo "$folder"
