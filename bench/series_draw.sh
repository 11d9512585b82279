#!/usr/bin/env bash
# A series of a million points: taken in as another cluster's history, then drawn over HTTP by a controller that has just begun, from a
# file that is in no cache.
#   series_draw.sh BUILD [POINTS] [ROUNDS]
set -euo pipefail
build=$(cd "$1" && pwd)
draw=$(cd "$(dirname "$0")" && pwd)/series_draw.py
export PATH="$build/bin:$PATH"
folder=$(mktemp -d /tmp/muster-draw.XXXXXX)
trap 'muster down --dir "$folder" > /dev/null 2>&1; rm -rf "$folder"' EXIT
begin() {
  muster up --dir "$folder" --nodes 1 --cpus 2 --memory 2000 --detach > /dev/null 2>&1
  eval "$(muster env --dir "$folder")"
}
begin
/usr/bin/python3 "$draw" store "${2:-1000000}"
for _ in $(seq "${3:-5}"); do
  muster down --dir "$folder" > /dev/null 2>&1
  /usr/bin/python3 "$draw" forget "$folder"
  begin
  /usr/bin/python3 "$draw" draw "${2:-1000000}"
done
