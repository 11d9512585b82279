#!/usr/bin/env bash
# Submissions beside what is hard on the controller: all of a long queue cancelled at once, questions about start times in a loop, or one
# user who keeps thousands of connections open, or lists of all jobs in a loop.
#   beside.sh BUILD cancel [JOBS]               as many as that are cancelled by one scancel; 100,000 if not given
#   beside.sh BUILD test-only [JOBS] [NODES]    `sbatch --test-only` without pause, each with all of the queue to plan; of more nodes
#                                               than four the agents are pretended
#   beside.sh BUILD connections [JOBS] [COUNT]  COUNT (8,000) connections of one user, opened again when they are closed
#   beside.sh BUILD launches [JOBS] [NODES] [BYTES]  a job on each of NODES (600) nodes at once, each with a script of BYTES (4,000,000); pretended
#                                               agents
#   beside.sh BUILD sacct [JOBS]                `sacct -a` without pause, over as many jobs that have ended
#   beside.sh BUILD squeue [JOBS]               `squeue` without pause, over as many that wait
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
what=$2
jobs=${3:-100000}
export PATH="$build/bin:$PATH"
folder=$(mktemp -d /tmp/muster-beside.XXXXXX)
chmod 755 "$folder"
started=()
clean_up() {
  for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
  muster down --dir "$folder" > /dev/null 2>&1 || true
  rm -rf "$folder"
}
trap clean_up EXIT

# A controller alone, with as many nodes of eight CPUs as told and their pretended agents.
start_large() { # NODES
  cat > "$folder/slurm.conf" << EOF
ClusterName=large
SlurmctldHost=localhost
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
MusterController=unix:$folder/controller.sock
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[0-$(($1 - 1))] CPUs=8 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=1-00:00:00 State=UP
SchedulerParameters=max_script_size=50000000
EOF
  musterd -f "$folder/slurm.conf" > "$folder/controller.log" 2>&1 &
  started+=($!)
  for _ in $(seq 100); do [ -S "$folder/agents.sock" ] && break; sleep 0.1; done
  # In life they are on other machines, and take no CPU from the controller.
  nice -n 10 "$build/bin/pretended_agents" "$folder/agents.sock" n "$1" 8 > "$folder/agents.log" &
  started+=($!)
  for _ in $(seq 600); do grep -q "all registered" "$folder/agents.log" && break; sleep 0.1; done
  grep "all registered" "$folder/agents.log" >&2
  export SLURM_CONF="$folder/slurm.conf"
}

nodes=4
[ "$what" = test-only ] && nodes=${4:-4}
[ "$what" = launches ] && nodes=${4:-600}
if [ "$nodes" -gt 4 ]; then
  start_large "$nodes"
else
  muster up --dir "$folder" --nodes 4 --cpus 8 --memory 2000 --detach > /dev/null 2>&1
  eval "$(muster env --dir "$folder")"
  for _ in 1 2 3 4; do sbatch -c 8 -o /dev/null --wrap 'sleep 3600' > /dev/null; done  # what is measured is to wait
fi
queue=$jobs
# Jobs that were cancelled while they waited have ended as any other.
end_many() { # COUNT
  "$build/bin/submit_bench" "unix:$folder/controller.sock" "$1" 64 hold >&2
  scancel --state=PENDING --user="$(id -un)"
  for _ in $(seq 600); do [ "$(sacct -aXn -S now-1hour -o JobID,State -P | grep -c CANCELLED)" -ge "$1" ] && return; sleep 0.5; done
  echo "beside.sh: not all of $1 jobs ended" >&2
  exit 1
}
# Asks without pause, on whatever the processor has left, and says how often it was answered.
ask_on() { # COMMAND LINES
  echo "for i in \$(seq 1000000); do [ \$(nice -n 10 $1 | wc -l) -ge $2 ] || exit 1; echo \$i > '$folder/answers'; done"
}
case $what in
  sacct)
    end_many "$jobs"
    queue=1000
    beside=$(ask_on "sacct -aXn -S now-1hour" "$jobs")
    ;;
  squeue) beside=$(ask_on "squeue -h" "$jobs") ;;
  cancel) beside="sleep 2; scancel --state=PENDING --user=$(id -un)" ;;
  test-only) beside='for i in $(seq 1000000); do nice -n 10 sbatch --test-only -c 2 --wrap true > /dev/null 2>&1; done' ;;
  launches)
    queue=1
    { echo '#!/bin/sh'; head -c "${5:-4000000}" /dev/zero | tr '\0' '#' | fold -w 1000; } > "$folder/large.sh"
    beside="sleep 2; sbatch -c 4 --array=0-$((nodes - 1)) -o /dev/null '$folder/large.sh'"
    ;;
  connections) beside="python3 '$here/crowd.py' '$folder/controller.sock' ${4:-8000} 30" ;;
  *) echo "beside.sh: cancel, test-only, connections, launches, sacct or squeue" >&2; exit 2 ;;
esac
"$build/bin/latency_bench" "unix:$folder/controller.sock" --queue "$queue" --rate 100 --seconds 20 --beside "$beside"
if [ "$what" = launches ]; then
  # One that was launched again had not been sent in time: none should be, however many there are.
  echo "running=$(squeue -h -r -t R | wc -l) drained=$(sinfo -h -N -t drain | wc -l) again=$(squeue -h -r -O RestartCnt | grep -vc '^0') controller_$(awk '/VmHWM/ {print "peak_mib=" int($2 / 1024)}' "/proc/${started[0]}/status")"
fi
if [ -f "$folder/answers" ]; then echo "answers=$(cat "$folder/answers")"; fi
