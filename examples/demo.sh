#!/usr/bin/env bash
# The five-minute story, by itself: a cluster on this machine, real distributed training through an ordinary Slurm
# script, an array, a crash, and what the commands show. Ends everything it started.
set -euo pipefail
examples=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d /tmp/muster-demo.XXXXXX)
finish() {
  local status=$?
  muster down --dir "$dir/cluster" >/dev/null 2>&1 || true
  if [ "$status" = 0 ]; then
    rm -rf "$dir"
  elif [ -d "$dir/cluster/log" ]; then
    printf '\nThe demo did not come to its end. What its daemons said is in %s, what its jobs wrote in %s.\n' "$dir/cluster/log" "$dir/work" >&2
  else
    printf '\nThe demo did not come to its end: its cluster did not start.\n' >&2
    rm -rf "$dir"
  fi
}
trap finish EXIT
mkdir "$dir/work"

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "$*"; "$@"; }
state() { squeue -h -t all -j "$1" -o %T; }
wait_for() { # JOB SECONDS: until it has ended
  for _ in $(seq $(($2 * 5))); do
    case $(state "$1") in COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL) return 0 ;; esac
    sleep 0.2
  done
  echo "job $1 did not end in $2 s"; exit 1
}

runs_of() { # EXPERIMENT STATE: how many of its trials are in that state
  muster experiment describe "$1" | awk -v state="$2" '$3 == state' | wc -l
}
curves() { # EXPERIMENT: accuracy by epoch of its best trial and of one that a rung cut
  local best cut
  best=$(muster experiment describe "$1" | awk '/Best:/ {print $NF}')
  cut=$(muster experiment describe "$1" | awk '/cut at rung/ {print $1; exit}')
  for trial in $best $cut; do
    echo "trial $trial, $(muster experiment describe "$1" | awk -v t="$trial" '$1 == t' | sed 's/.*\(lr: .*\)/\1/')"
    sed -n 's/^accuracy=\([0-9.]*\) epochs=\([0-9]*\)$/\2 \1/p' muster-runs/experiment-"$1"-*/trial-"$trial"/output.log |
      awk '{ bar = sprintf("%*s", $2 * 60, ""); gsub(/ /, "#", bar); printf "  epoch %2d  %.3f  %s\n", $1, $2, bar }' | awk 'NR <= 4 || NR % 8 == 0'
  done
}

say "A cluster of four nodes with two pretended GPUs each, on this machine"
run muster up --dir "$dir/cluster" --nodes 4 --gpus 2 --cpus 4 --memory 4000 --detach
eval "$(muster env --dir "$dir/cluster")"
cd "$dir/work"
run sinfo

say "1. A training script as a Slurm user would have written it years ago"
grep -v '^$' "$examples/ddp/train.sbatch"
train=$(run sbatch --parsable "$examples/ddp/train.sbatch" | tail -n1)
echo "job $train"

say "2. An array over sixteen learning rates, submitted beside it"
rates=$(run sbatch --parsable "$examples/array/rates.sbatch" | tail -n1)
echo "job $rates"
huge=$(sbatch --parsable --job-name=greedy --nodes=4 --exclusive --time=1:00 --wrap 'true')
for _ in $(seq 100); do [ "$(state "$train")" = RUNNING ] && break; sleep 0.1; done
run squeue
say "Why does job $huge wait?"
run muster why "$huge"

say "3. The controller is killed while the jobs run (SIGKILL), and started again"
sleep 1
kill -9 "$(cat "$dir/cluster/controller.pid")"
echo "controller $(cat "$dir/cluster/controller.pid") is gone; the tasks are not"
run muster up --dir "$dir/cluster" --detach
run squeue
wait_for "$train" 120
echo
cat "digits-$train.out"
grep -q 'test accuracy' "digits-$train.out"

for _ in $(seq 600); do
  [ "$(sacct -X -n -P -j "$rates" -o State | grep -c COMPLETED)" = 16 ] && break
  sleep 0.2
done
say "The sixteen learning rates (element, rate, accuracy)"
sort -n rate-"$rates"_*.out
wait_for "$huge" 60

say "4. A search as a Determined user would have written it: adaptive ASHA over 24 trials of a real network"
search=$(run muster experiment create "$examples/search/adaptive_asha.yaml" "$examples/search" --config searcher.max_trials=24 | tail -n1)
search=${search##* }
for _ in $(seq 300); do [ "$(runs_of "$search" COMPLETED)" -ge 2 ] && break; sleep 0.2; done
say "Paused in the middle: trials stop where they are and wait; then they go on from what they saved"
run muster experiment pause "$search"
for _ in $(seq 300); do [ "$(runs_of "$search" RUNNING)" = 0 ] && [ "$(runs_of "$search" STOPPING)" = 0 ] && break; sleep 0.2; done
run muster experiment list
run muster experiment activate "$search"
run muster experiment wait "$search" --quiet
run muster experiment describe "$search"
say "How the best of them learnt, beside one that was stopped"
curves "$search"
grep -h 'goes on after' muster-runs/experiment-"$search"-*/trial-*/output.log | sort | uniq -c | head -3

say "5. What is remembered, and that nothing was lost: the journal replays to the same state"
run sacct -X -o jobid,jobname,alloccpus,state,exitcode,elapsed
run muster check --dir "$dir/cluster"
run sinfo

say "Where to go next"
cat <<'TEXT'
  muster up --nodes 4 --gpus 2 --dir ~/cluster --detach     keep a cluster of your own
  eval "$(muster env --dir ~/cluster)"                      point the commands at it
  sbatch, srun, salloc, squeue, sinfo, scancel, scontrol, sacct as you know them
  muster experiment create FILE CODE -f                     a Determined experiment on the same queue
  README.md, ARCHITECTURE.md
TEXT
