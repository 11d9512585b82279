#!/usr/bin/env bash
# The virtual environment of the adapters' tests, with Lightning and transformers: prints where it is.
#   adapters_env.sh [FOLDER]      default build/adapters-venv
set -euo pipefail
cd "$(dirname "$0")/.."
# Lightning does not take Debian's torch for the version that it is, unless test_adapters.py helps it.
exec tools/venv.sh "${1:-build/adapters-venv}" python/tests/adapters_requirements.txt "transformers, torchmetrics"
