#!/usr/bin/env bash
# The virtual environment of the tests with programs that drive Slurm (submitit, Dask, parsl, snakemake, reframe): prints where it is.
#   slurm_clients_env.sh [FOLDER]      default build/slurm-clients-venv
set -euo pipefail
cd "$(dirname "$0")/.."
exec tools/venv.sh "${1:-build/slurm-clients-venv}" tests/slurm_clients/requirements.txt \
  "submitit, hydra, dask_jobqueue, parsl, snakemake_executor_plugin_slurm, snakemake_executor_plugin_slurm_jobstep, reframe"
