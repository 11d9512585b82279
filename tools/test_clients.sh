#!/usr/bin/env bash
# What meets other people's packages as they are: determined, TensorBoard and boto3, Lightning and transformers, and programs that
# drive Slurm. Where they cannot be installed, the tests that need them are skipped, by name.
#   test_clients.sh BUILD [--prepare]      --prepare: only installs what they need
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/$1/bin:$PATH"
failed=0

if [ "${2:-}" = --prepare ]; then
  for prepare in clients_env adapters_env slurm_clients_env mpi_packages; do
    "tools/$prepare.sh" || failed=1
  done
  exit $failed
fi

run() { # NAME COMMAND...
  echo "== end to end: $1"
  shift
  "$@" -q -p no:cacheprovider || failed=1
}

skip() {
  echo "== end to end: $1: skipped, their packages cannot be installed here"
}

if venv=$(tools/clients_env.sh); then
  if [ "$(id -u)" -eq 0 ]; then
    run "Determined's own clients" "$venv/bin/python" -m pytest tests/clients -n 2 --dist loadfile
  else
    echo "== end to end: Determined's own clients: skipped, their trials need root"
  fi
  run "TensorBoard and S3" "$venv/bin/python" -m pytest python/tests/test_tensorboard.py python/tests/test_s3_storage.py
else
  skip "Determined's own clients"
  skip "TensorBoard and S3"
fi
if venv=$(tools/adapters_env.sh); then
  run "Lightning and transformers" "$venv/bin/python" -m pytest python/tests/test_adapters.py
else
  skip "Lightning and transformers"
fi
tools/mpi_packages.sh || echo "== end to end: mpirun: skipped, Open MPI and MPICH cannot be installed here"
if venv=$(tools/slurm_clients_env.sh); then
  run "programs that drive Slurm" "$venv/bin/python" -m pytest tests/slurm_clients -n 3 --dist loadfile -rs
else
  skip "programs that drive Slurm"
fi
exit $failed
