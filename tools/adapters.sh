#!/usr/bin/env bash
# The adapters' tests with the real Lightning and transformers, in a virtual environment over the system's torch.
#   adapters.sh [FOLDER]      default build/adapters-venv; made once, from python/tests/adapters_requirements.txt
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-build/adapters-venv}
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import pytorch_lightning, transformers' 2>/dev/null; then
  /usr/bin/python3 -m venv --system-site-packages "$venv"
  # Without dependencies, for those would bring another torch.
  "$venv/bin/python" -m pip install -q --no-deps -r python/tests/adapters_requirements.txt
fi
exec "$venv/bin/python" -m pytest python/tests/test_adapters.py -q -p no:cacheprovider
