#!/usr/bin/env bash
# Makes the virtual environment of the tests with the unmodified determined package, over the system's torch, and prints
# where it is. Nothing is done when it is there and belongs to today's requirements.
#   clients_env.sh [FOLDER]      default build/clients-venv
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-build/clients-venv}
requirements=tests/clients/requirements.txt
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  /usr/bin/python3 -m venv --system-site-packages "$venv"
  "$venv/bin/python" -m pip install -q --no-deps -r "$requirements" >&2
  "$venv/bin/python" -c 'import determined.cli.cli, determined.core, determined.pytorch, torch.utils.tensorboard' >&2
  cp "$requirements" "$venv/requirements.txt"
fi
echo "$venv"
