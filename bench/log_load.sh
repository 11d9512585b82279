#!/usr/bin/env bash
# Logs through the product, from a task's standard output to an HTTP client: how fast they are stored, how long searches of all of them
# take, and how old lines are when a follower sees them.
#   log_load.sh BUILD [MB] [SECONDS]      default 1000 MB to search, 60 s of 100 MB a minute from 64 ranks to follow
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mb=${2:-1000}
seconds=${3:-60}
export PATH="$build/bin:$PATH"
folder=$(mktemp -d /tmp/muster-load.XXXXXX)
muster up --dir "$folder" --nodes 2 --cpus 4 --memory 4000 --detach > /dev/null
trap 'muster down --dir "$folder" > /dev/null; rm -rf "$folder"' EXIT
eval "$(muster env --dir "$folder")"
cd "$folder"

create() { # NAME ENTRYPOINT: prints the trial's number
  cat > "$1.yaml" <<YAML
name: $1
searcher: {name: single, metric: loss}
checkpoint_storage: {type: shared_fs, host_path: $folder/storage}
entrypoint: $2
YAML
  experiment=$(muster experiment create "$1.yaml" | sed -n 's/^Created experiment //p')
  until muster experiment describe "$experiment" | grep -q '^TRIAL'; do sleep 0.1; done
  until muster experiment describe "$experiment" | sed '1,/^TRIAL/d' | grep -q '^[0-9]'; do sleep 0.1; done
  echo "$experiment $(muster experiment describe "$experiment" | sed '1,/^TRIAL/d' | awk '{print $1; exit}')"
}

begin=$(date +%s%N)
read -r experiment trial <<< "$(create store "log_source --mb $mb")"
muster experiment wait --quiet "$experiment"
took=$(($(date +%s%N) - begin))
lines=$(muster trial logs "$trial" --plain --tail 1 > /dev/null && curl -sf -H "Authorization: Bearer $DET_USER_TOKEN" \
  "$DET_MASTER/api/v1/trials/$trial/logs?orderBy=ORDER_BY_DESC&limit=1" | sed 's/.*"id": *"\([0-9]*\)".*/\1/')
echo "stored $mb MB, $lines lines, in $((took / 1000000)) ms: $((mb * 1000 * 60 / (took / 1000000))) MB/min, $((lines * 1000 / (took / 1000000))) lines/s"
python3 "$here/log_load.py" search "$trial"
read -r experiment trial <<< "$(create live "log_source --mb $((100 * seconds / 60)) --mb-per-minute 100")"
python3 "$here/log_load.py" follow "$trial"
muster experiment wait --quiet "$experiment"
