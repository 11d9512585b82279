#!/usr/bin/env bash
# The virtual environment of the tests with the unmodified determined package, TensorBoard and an S3 store: prints where it is.
# Beside it, in its folder determined-0.37, lies the last version of the package that had custom searches.
#   clients_env.sh [FOLDER]      default build/clients-venv
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(tools/venv.sh "${1:-build/clients-venv}" tests/clients/requirements.txt \
  "determined.cli.cli, determined.core, determined.pytorch, torch.utils.tensorboard, moto.server")
if [ ! -d "$venv/determined-0.37" ]; then
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --target "$venv/determined-0.37.new" determined==0.37.0 >&2
  mv "$venv/determined-0.37.new" "$venv/determined-0.37"
fi
echo "$venv"
