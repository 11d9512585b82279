#!/usr/bin/env bash
# The virtual environment of the tests with the unmodified determined package, TensorBoard and an S3 store: prints where it is.
#   clients_env.sh [FOLDER]      default build/clients-venv
set -euo pipefail
cd "$(dirname "$0")/.."
exec tools/venv.sh "${1:-build/clients-venv}" tests/clients/requirements.txt \
  "determined.cli.cli, determined.core, determined.pytorch, torch.utils.tensorboard, moto.server"
