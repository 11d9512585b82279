#!/usr/bin/env bash
# The matrix of exact resuming at length: COUNT interruptions on one rank and a fifth of them on 2 x 2, SEEDS times over.
#   exact_resume.sh [COUNT [SEEDS [FIRST_SEED]]]      default 200 3 1
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:-200}
seeds=${2:-3}
first=${3:-1}
for seed in $(seq "$first" $((first + seeds - 1))); do
  echo "== seed $seed, $count interruptions"
  EXACT_RESUME_COUNT=$count EXACT_RESUME_SEED=$seed \
    /usr/bin/python3 -m pytest python/tests/test_exact_resume.py -q -p no:cacheprovider -k "one_rank or four_ranks"
done
