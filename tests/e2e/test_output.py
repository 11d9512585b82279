"""What the controller reads out of trials' output: log policies, metrics of scripts without any import, and how long logs are kept."""
import json
import os
import pty
import signal
import subprocess
import time

import pytest

from conftest import until
from test_experiment import create, folder, trials, wait, write
from test_http import Web


@pytest.fixture(scope="module")
def web(cluster):
    return Web(cluster)


def experiment_of(cluster, line, more="", searcher="{name: single, metric: loss}"):
    return write(cluster, f"name: out\nentrypoint: {json.dumps(line)}\nsearcher: {searcher}\n{more}")


def run(cluster, line, more="", code=0):
    """The experiment, its only trial as a row, and what `describe` says of it."""
    experiment = create(cluster, experiment_of(cluster, line, more))
    wait(cluster, experiment, code=code)
    (row,) = trials(cluster, experiment)
    return experiment, row, cluster.run("muster", "trial", "describe", row["TRIAL"]).out


def reports(web, trial, group):
    """Steps and metrics of all that is valid, in the order of steps."""
    path = f"trials/metrics/{group}_metrics?trialIds={trial}"
    found = []
    connection_lines = web_lines(web, path)
    for line in connection_lines:
        for one in line["result"]["metrics"]:
            if not one["archived"]:
                found.append((one["totalBatches"], one["metrics"]["avg_metrics" if group == "training" else "validation_metrics"]))
    return sorted(found, key=lambda one: one[0])


def web_lines(web, path):
    """A stream of objects, a line each."""
    import http.client
    connection = http.client.HTTPConnection(web.address, timeout=60)
    connection.request("GET", f"/api/v1/{path}", headers={web.header: f"Bearer {web.token}"})
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    assert reply.status == 200, text
    return [json.loads(line) for line in text.splitlines()]


# ---- log policies ----

def test_a_policy_forbids_another_try(cluster, web):
    _, row, told = run(cluster, "echo fine; echo 'RuntimeError: CUDA out of memory. Tried' >&2; exit 1", code=1,
                       more="max_restarts: 3\nlog_policies: [{name: oom, pattern: CUDA out of memory, action: cancel_retries}]\n")
    assert row["STATE"] == "ERROR" and row["RUNS"] == "1"
    assert 'log policy "oom" forbids another try: run 1 wrote "RuntimeError: CUDA out of memory. Tried"' in told
    assert 'Log policy "CUDA OOM" labels the run: run 1 on node1 wrote: RuntimeError: CUDA out of memory. Tried' in told
    assert web.get(f"trials/{row['TRIAL']}")["trial"]["logPolicyMatched"] in ("oom", "CUDA OOM")


def test_a_policy_keeps_the_trial_from_a_node(cluster):
    line = ("first=$MUSTER_RUN_DIR/first; if [ -e $first ]; then [ $SLURMD_NODENAME != $(cat $first) ] || echo again on $SLURMD_NODENAME;"
            "else echo $SLURMD_NODENAME > $first; echo 'NCCL WARN unhandled system error'; exit 1; fi; echo fine on $SLURMD_NODENAME")
    experiment, row, told = run(cluster, line, "log_policies: [{name: bad-node, pattern: 'NCCL.*unhandled system error', action: exclude_node}]\n")
    first = (folder(cluster, experiment, row["TRIAL"]) / "first").read_text().strip()
    assert row["STATE"] == "COMPLETED" and row["RUNS"] == "2"
    assert f'Log policy "bad-node" excludes the node: run 1 on {first} wrote: NCCL WARN unhandled system error' in told
    lines = cluster.run("muster", "trial", "logs", row["TRIAL"], "--plain").out.splitlines()
    assert lines[-1].startswith("fine on ") and lines[-1] != f"fine on {first}" and len(lines) == 2
    assert f"ExcNodeList={first}" in cluster.run("scontrol", "show", "job", row["JOB"]).out


def test_a_trial_that_no_node_is_left_for_ends(cluster):
    _, row, told = run(cluster, "echo NCCL error; exit 1", "log_policies: [{pattern: NCCL error, action: exclude_node}]\n", code=1)
    assert row["STATE"] == "ERROR" and row["RUNS"] == "2"
    assert 'no nodes are left that it could run on: by its log policies ("NCCL error") it does without node[1-2]' in told


def test_defaults_label_and_a_name_alone_turns_one_off(cluster, web):
    line = "echo \"{'log_policies': 'CUDA out of memory'}\"; echo uncorrectable ECC error encountered; %s"
    _, row, told = run(cluster, line % "true", "log_policies: [{name: ECC Error}]\n")
    assert row["STATE"] == "COMPLETED" and "Log policy" not in told
    assert web.get(f"trials/{row['TRIAL']}")["trial"]["logPolicyMatched"] is None
    _, row, told = run(cluster, line % "echo CUDA out of memory, twice; echo CUDA out of memory")
    assert row["STATE"] == "COMPLETED" and told.count("Log policy") == 2 and "CUDA out of memory, twice" in told


def test_a_policy_that_cannot_be_is_refused(cluster):
    file = experiment_of(cluster, "true", "log_policies: [{name: a, pattern: '('}]\nenvironment: {environment_variables: [MUSTER_OUTPUT_METRICS=2]}\n")
    for verb, *code in (["create", "code"], ["check"]):
        refused = cluster.run("muster", "experiment", verb, file, *code, check=False)
        assert refused.code != 0 and "log_policies.0.pattern" in refused.err and "MUSTER_OUTPUT_METRICS=2 is neither 0 nor 1" in refused.err


# ---- metrics from standard output ----

def test_printed_lines_are_metrics(cluster, web):
    line = ("echo 'epoch 1 | step=10 | acc=0.5, lr=1e-3'; echo '{\"step\": 10, \"loss\": NaN, \"note\": \"x\"}'; echo 'step=20 loss=inf';"
            "echo 'step=30 loss=9' >&2; echo 'the step=40 failed'; printf 'step=50 loss=0.25'")
    _, row, _ = run(cluster, line)
    trial = row["TRIAL"]
    assert reports(web, trial, "training") == [(10, {"acc": 0.5, "lr": 0.001})]
    assert reports(web, trial, "validation") == [(10, {"loss": "NaN"}), (20, {"loss": "Infinity"}), (50, {"loss": 0.25})]
    assert row["METRIC"] == "0.25", "the search has heard of the last line before the end"
    assert len(cluster.run("muster", "trial", "logs", trial, "--plain").out.splitlines()) == 6


def test_printed_lines_without_the_searchs_metric_are_said_to_lack_it(cluster, web):
    experiment = create(cluster, experiment_of(cluster, "echo step=10 loss=0.3; echo step=20 loss=0.2", searcher="{name: single, metric: val_loss}"))
    wait(cluster, experiment)
    told = cluster.run("muster", "experiment", "describe", experiment).out
    assert "no trial ever reported val_loss, its searcher.metric; what a script prints counts where a line has the step and val_loss" in told
    (row,) = trials(cluster, experiment)
    assert row["METRIC"] == "-" and reports(web, row["TRIAL"], "training") == [(10, {"loss": 0.3}), (20, {"loss": 0.2})]
    assert web.get(f"experiments/{experiment}")["experiment"]["detail"].startswith("no trial ever reported val_loss")
    heard, _, _ = run(cluster, "echo step=10 loss=0.3")
    assert "no trial ever reported" not in cluster.run("muster", "experiment", "describe", heard).out


def test_a_terminal_shows_the_course_of_the_metric(cluster):
    """To a pipe the tables have the columns that scripts know."""
    experiment, row, _ = run(cluster, "for i in 1 2 3 4 5 6 7 8; do echo step=$i loss=$((9 - i)); done")
    assert "CURVE" not in cluster.run("muster", "experiment", "describe", experiment).out
    for words in (("experiment", "describe", experiment), ("experiment", "list-trials", experiment), ("trial", "describe", row["TRIAL"])):
        shown = on_terminal(cluster, "muster", *words)
        assert "█▇▆▅▄▃▂▁" in shown, shown
        assert words[0] == "trial" or "  CURVE     HYPERPARAMETERS" in shown, shown


def on_terminal(cluster, *words):
    """What a command writes to a terminal."""
    leader, follower = pty.openpty()
    ended = subprocess.Popen([str(word) for word in words], env=cluster.env(TERM="xterm"), cwd=cluster.work, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # the last that had it open has ended
            break
        if not block:
            break
        shown += block
    os.close(leader)
    assert ended.wait(timeout=60) == 0, shown
    return shown.decode()


def test_what_python_prints_is_there_at_once(cluster, web):
    experiment = create(cluster, experiment_of(cluster, "python3 -c \"import time; print('step=1 loss=1'); time.sleep(300)\""))
    (row,) = until(lambda: trials(cluster, experiment))
    until(lambda: reports(web, row["TRIAL"], "validation"), timeout=20)
    cluster.run("muster", "experiment", "kill", experiment)
    wait(cluster, experiment, code=2)


def test_reading_can_be_turned_off(cluster, web):
    _, row, _ = run(cluster, "echo step=1 loss=1; echo unbuffered=$PYTHONUNBUFFERED",
                    "environment: {environment_variables: [MUSTER_OUTPUT_METRICS=0, PYTHONUNBUFFERED=]}\n")
    assert reports(web, row["TRIAL"], "validation") == []
    assert "unbuffered=\n" in cluster.run("muster", "trial", "logs", row["TRIAL"], "--plain").out


# Trains up to 16 epochs and goes on where its last run stopped; says what it reached on standard output, and in a file for the test.
# How good it gets follows from lr alone.
PRINTS = """#!/bin/sh
epoch=0
[ -s "$MUSTER_RUN_DIR/epoch" ] && epoch=$(cat "$MUSTER_RUN_DIR/epoch")
trap 'exit 0' TERM
while [ "$epoch" -lt 16 ] && [ ! -e "$MUSTER_STOP_FILE" ]; do
  sleep 0.15 &
  wait $!
  epoch=$((epoch + 1))
  metric=$(awk -v lr="$MUSTER_HP_LR" -v e=$epoch 'BEGIN { d = log(lr)/log(10) + 1.5; printf "%.9f", (1 - exp(-e/4)) / (1 + d*d) }')
  echo "$((epoch * 10)) $metric" >> "$MUSTER_RUN_DIR/printed"
  echo "epoch done: accuracy=$metric, epochs=$epoch, step=$((epoch * 10))"
  echo $epoch > "$MUSTER_RUN_DIR/epoch.new"
  mv "$MUSTER_RUN_DIR/epoch.new" "$MUSTER_RUN_DIR/epoch"
done
"""

ASHA = """
name: printed
entrypoint: ./prints.sh
hyperparameters: {lr: {type: log, base: 10, minval: -3, maxval: 0}}
reproducibility: {experiment_seed: 3}
log_policies: [{name: first, pattern: 'epochs=1,'}]
searcher: {name: adaptive_asha, metric: accuracy, smaller_is_better: false, max_trials: 8, max_concurrent_trials: 4,
           time_metric: epochs, max_time: 16}
"""


def test_a_search_over_a_script_that_only_prints_survives_kills(own_cluster):
    cluster = own_cluster(nodes=2, cpus=4)
    file = write(cluster, ASHA)
    (cluster.work / "code/prints.sh").write_text(PRINTS)
    (cluster.work / "code/prints.sh").chmod(0o755)
    experiment = create(cluster, file)
    time.sleep(1.2)
    for name in ("controller", "agent-node1"):
        os.kill(cluster.pid(name), signal.SIGKILL)
        time.sleep(0.3)
        cluster.up()
        time.sleep(0.7)
    told = wait(cluster, experiment, timeout=180)
    assert told.splitlines()[-1].startswith("COMPLETED 100%  8 completed")
    rows = trials(cluster, experiment)
    assert len(rows) == 8 and {row["STATE"] for row in rows} == {"COMPLETED"}
    cut = [row for row in rows if row["WHY"].startswith("cut at rung")]
    full = [row for row in rows if row["WHY"] == "trained in full"]
    assert cut and full and len(cut) + len(full) == 8
    web = Web(cluster)
    best = 0
    for row in rows:
        trial = row["TRIAL"]
        printed = {}
        for line in (folder(cluster, experiment, trial) / "printed").read_text().splitlines():
            step, metric = line.split()
            printed[int(step)] = float(metric)
        got = {step: metrics["accuracy"] for step, metrics in reports(web, trial, "validation")}
        assert got == printed, row
        best = max(best, *printed.values())
        shown = web.get(f"trials/{trial}")["trial"]
        assert shown["logPolicyMatched"] == "first"
        assert cluster.run("muster", "trial", "describe", trial).out.count('Log policy "first" labels the run: run ') == 1
    text = cluster.run("muster", "experiment", "describe", experiment).out
    assert f"Best: {best:.6g} by trial " in text, text
    assert max(float(row["METRIC"]) for row in full) == pytest.approx(best, rel=1e-5)


# ---- how long logs are kept ----

def logs(cluster, trial):
    return cluster.run("muster", "trial", "logs", trial, "--plain").out


def test_logs_go_when_their_days_are_past(cluster, web):
    _, kept, told = run(cluster, "echo kept")
    assert "Logs are kept" not in told
    assert web.get(f"trials/{kept['TRIAL']}/remaining_log_retention_days") == {"remainingDays": -1}
    _, brief, told = run(cluster, "echo brief", "retention_policy: {log_retention_days: 0}\n")
    assert "Logs are kept for 0 days after the experiment's end" in told
    until(lambda: logs(cluster, brief["TRIAL"]) == "", timeout=30)
    experiment, later, _ = run(cluster, "echo later", "retention_policy: {log_retention_days: 3}\n")
    trial = later["TRIAL"]
    assert web.get(f"trials/{trial}/remaining_log_retention_days") == {"remainingDays": 3}
    assert web.get(f"trials/{trial}")["trial"]["logRetentionDays"] == 3
    web.ask("PUT", f"/api/v1/trials/{trial}/retain_logs", {"trialId": int(trial), "numDays": 40})
    assert web.get(f"trials/{trial}/remaining_log_retention_days") == {"remainingDays": 40}
    web.ask("PUT", f"/api/v1/experiments/{experiment}/retain_logs", {"experimentId": experiment, "numDays": 5})
    assert web.get(f"trials/{trial}/remaining_log_retention_days") == {"remainingDays": 5}
    assert logs(cluster, trial) == "later\n"
    for body in ({"numDays": 40000}, {}):
        web.ask("PUT", f"/api/v1/trials/{trial}/retain_logs", body, check=400)
    web.ask("PUT", "/api/v1/trials/4711/retain_logs", {"numDays": 1}, check=404)
    answer = web.ask("PUT", "/api/v1/projects/1/experiments/retain_logs", {"projectId": 1, "experimentIds": [experiment, 4711], "numDays": 0})
    assert answer["results"][0] == {"id": experiment, "error": ""} and answer["results"][1]["error"]
    until(lambda: logs(cluster, trial) == "", timeout=30)
    assert logs(cluster, kept["TRIAL"]) == "kept\n"


def test_the_cluster_says_how_long_logs_are_kept(own_cluster):
    cluster = own_cluster(nodes=1, cpus=4, conf={"MusterLogRetention": "0"})
    _, brief, _ = run(cluster, "echo brief")
    _, kept, _ = run(cluster, "echo kept", "retention_policy: {log_retention_days: -1}\n")
    until(lambda: logs(cluster, brief["TRIAL"]) == "", timeout=30)
    assert logs(cluster, kept["TRIAL"]) == "kept\n"
    assert "MusterLogRetention      = 0" in cluster.run("scontrol", "show", "config").out
