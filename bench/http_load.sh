#!/usr/bin/env bash
# Metrics over HTTP under load, and what a scheduler of jobs feels of it.
#   http_load.sh BUILD [CONNECTIONS] [PER_SECOND] [SECONDS]
set -euo pipefail
build=$(cd "$1" && pwd)
shift
export PATH="$build/bin:$PATH"
folder=$(mktemp -d /tmp/muster-load.XXXXXX)
muster up --dir "$folder" --nodes 2 --cpus 8 --memory 4000 --detach > /dev/null
trap 'muster down --dir "$folder" > /dev/null; rm -rf "$folder"' EXIT
eval "$(muster env --dir "$folder")"
cd "$folder"
cat > load.yaml <<YAML
name: load
hyperparameters: {x: {type: int, minval: 1, maxval: 100}}
searcher: {name: random, metric: loss, max_trials: 8, max_concurrent_trials: 8}
checkpoint_storage: {type: shared_fs, host_path: $folder/storage}
entrypoint: sleep 600
YAML
muster experiment create load.yaml > /dev/null
until [ "$(squeue -h -t R | wc -l)" -eq 8 ]; do sleep 0.2; done
time_submissions() { # milliseconds of one sbatch, the median of 50
  for _ in $(seq 50); do
    begin=$(date +%s%N)
    sbatch -n1 --wrap true > /dev/null
    echo $((($(date +%s%N) - begin) / 10000))
  done | sort -n | sed -n 25p | sed 's/..$/.&/'
}
echo "sbatch, nothing else going on: $(time_submissions) ms"
address=${DET_MASTER#http://}
http_load "${address%:*}" "${address#*:}" "$DET_USER_TOKEN" 8 "$@" &
load=$!
sleep 5
echo "sbatch under that load: $(time_submissions) ms"
wait "$load"
