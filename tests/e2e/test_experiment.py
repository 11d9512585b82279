"""Experiments with real processes: searches that run to their end, stops, pauses, failures, crashes."""
import json
import os
import re
import signal
import time

import pytest

from conftest import experiment_folder, until

# Trains up to $MUSTER_MAX_LENGTH or 16 epochs, a step at a time, and goes on where its last run stopped. How good it gets follows
# from lr alone, so that any run of it reports the same. BUSY: seconds per epoch.
TRAIN = """#!/bin/sh
epoch=0
[ -f "$MUSTER_RUN_DIR/epoch" ] && epoch=$(cat "$MUSTER_RUN_DIR/epoch")
echo "run $MUSTER_RUN_ID from $epoch with $MUSTER_HPARAMS"
trap 'echo "stopped at $epoch"; exit 0' TERM
while [ "$epoch" -lt "${EPOCHS:-16}" ] && [ ! -e "$MUSTER_STOP_FILE" ]; do
  sleep "${BUSY:-0.02}" &
  wait $!
  epoch=$((epoch + 1))
  echo $epoch > "$MUSTER_RUN_DIR/epoch"
  metric=$(awk -v lr="$MUSTER_HP_LR" -v e=$epoch 'BEGIN { d = log(lr)/log(10) + 1.5; printf "%.9f", (1 - exp(-e/4)) / (1 + d*d) }')
  muster report accuracy=$metric epochs=$epoch || exit 7
done
echo "ended at $epoch"
"""

ASHA = """
name: toy
entrypoint: ./train.sh
hyperparameters: {lr: {type: log, base: 10, minval: -3, maxval: 0}}
reproducibility: {experiment_seed: 3}
searcher: {name: adaptive_asha, metric: accuracy, smaller_is_better: false, max_trials: 12, max_concurrent_trials: 4,
           time_metric: epochs, max_time: 16}
"""


def single(cluster, more="", searcher="name: single"):
    return write(cluster, f"name: one\nentrypoint: ./train.sh\nhyperparameters: {{lr: 0.1}}\n"
                          f"searcher: {{metric: accuracy, smaller_is_better: false, {searcher}}}\n{more}")


def write(cluster, text):
    code = cluster.work / "code"
    code.mkdir(exist_ok=True)
    (code / "train.sh").write_text(TRAIN)
    (code / "train.sh").chmod(0o755)
    (cluster.work / "experiment.yaml").write_text(text)
    return "experiment.yaml"


def create(cluster, file, *options):
    out = cluster.run("muster", "experiment", "create", file, "code", *options, timeout=120).out
    return int(re.match(r"Created experiment (\d+)\n", out).group(1))


def wait(cluster, experiment, code=0, timeout=120):
    result = cluster.run("muster", "experiment", "wait", experiment, timeout=timeout, check=False)
    assert result.code == code, (result, cluster.run("muster", "experiment", "describe", experiment))
    return result.out


def trials(cluster, experiment):
    """The table of `describe`, by column."""
    lines = cluster.run("muster", "experiment", "describe", experiment).out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("TRIAL"))
    begins = [(m.group(), m.start()) for m in re.finditer(r"\S+", lines[start])]
    ends = [begin for _, begin in begins[1:]] + [None]
    return [{name: line[begin:end].strip() for (name, begin), end in zip(begins, ends)} for line in lines[start + 1:]]


def folder(cluster, experiment, trial):
    return experiment_folder(cluster.work / "muster-runs", experiment) / f"trial-{trial}"


def epochs_of(cluster, experiment, trial):
    file = folder(cluster, experiment, trial) / "epoch"
    return int(file.read_text() or 0) if file.exists() else 0


def test_a_search_runs_to_its_end_and_finds_the_best(cluster):
    experiment = create(cluster, write(cluster, ASHA))
    told = wait(cluster, experiment)
    assert told.splitlines()[-1].startswith("COMPLETED 100%  12 completed; best accuracy 0.9")
    rows = trials(cluster, experiment)
    assert len(rows) == 12 and {row["STATE"] for row in rows} == {"COMPLETED"}
    cut = [row for row in rows if row["WHY"].startswith("cut at rung 0: ")]
    full = [row for row in rows if row["WHY"] == "trained in full"]
    assert cut and len(cut) + len(full) == 12
    assert {row["AT"] for row in full} == {"16"}
    lr = {row["TRIAL"]: float(row["HYPERPARAMETERS"].split(": ")[1]) for row in rows}
    best = max(rows, key=lambda row: float(row["METRIC"]))
    assert all(0.001 <= value <= 1 for value in lr.values()) and 0.01 < lr[best["TRIAL"]] < 0.1
    # Every trial is a job like any other.
    listed = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State", "--name", "toy.0").out.splitlines()
    assert listed == ["toy.0|COMPLETED"]
    assert "run 1 from 0 with " in (folder(cluster, experiment, rows[0]["TRIAL"]) / "output.log").read_text()
    config = json.loads(cluster.run("muster", "experiment", "config", experiment).out)
    assert config["searcher"]["max_trials"] == 12 and config["max_restarts"] == 5
    assert cluster.run("muster", "experiment", "config", experiment, "--original").out == ASHA


def test_a_promoting_search_holds_trials_at_their_rungs(cluster):
    text = ASHA.replace("max_time: 16", "max_time: 16, stop_once: false").replace("max_trials: 12", "max_trials: 6")
    experiment = create(cluster, write(cluster, text))
    wait(cluster, experiment)
    rows = trials(cluster, experiment)
    assert [row["STATE"] for row in rows] == ["COMPLETED"] * 6
    promoted = [row for row in rows if int(row["RUNS"]) > 1]
    assert promoted, rows
    # What a later run does begins where the run before stopped.
    for row in promoted:
        runs = re.findall(r"run (\d+) from (\d+)", (folder(cluster, experiment, row["TRIAL"]) / "output.log").read_text())
        assert [int(run) for run, _ in runs] == list(range(1, len(runs) + 1)) and int(runs[1][1]) >= 4


def test_pause_lets_a_trial_stop_and_activate_lets_it_go_on(cluster):
    file = single(cluster, "environment: {environment_variables: [BUSY=0.2]}\n")
    experiment = create(cluster, file)
    (trial,) = until(lambda: trials(cluster, experiment))
    until(lambda: epochs_of(cluster, experiment, trial["TRIAL"]) >= 2)
    cluster.run("muster", "experiment", "pause", experiment)
    until(lambda: trials(cluster, experiment)[0]["STATE"] == "WAITING")
    stopped_at = epochs_of(cluster, experiment, trial["TRIAL"])
    assert "(JobHeldUser)" in cluster.run("squeue", "-h", "-o", "%r", "-j", trial["JOB"]).out.replace("JobHeldUser", "(JobHeldUser)")
    refused = cluster.run("scontrol", "release", trial["JOB"], check=False)
    assert refused.code == 1 and "held by its experiment" in refused.err
    cluster.run("muster", "experiment", "activate", experiment)
    wait(cluster, experiment)
    log = (folder(cluster, experiment, trial["TRIAL"]) / "output.log").read_text()
    # The script learns of it from the signal or from the file, whichever comes to it first.
    assert f"stopped at {stopped_at}\n" in log or f"ended at {stopped_at}\n" in log
    assert f"run 2 from {stopped_at} " in log and log.endswith("ended at 16\n")
    assert trials(cluster, experiment)[0]["RUNS"] == "2"


def test_cancel_and_kill(cluster):
    file = single(cluster, "environment: {environment_variables: [BUSY=0.2, EPOCHS=1000]}\n")
    for verb in ("cancel", "kill"):
        experiment = create(cluster, file)
        (trial,) = until(lambda: trials(cluster, experiment))
        until(lambda: epochs_of(cluster, experiment, trial["TRIAL"]) >= 1)
        cluster.run("muster", "experiment", verb, experiment)
        wait(cluster, experiment, code=2)
        log = (folder(cluster, experiment, trial["TRIAL"]) / "output.log").read_text()
        assert verb == "kill" or "stopped at" in log or "ended at" in log  # by the signal, or by the file
        refused = cluster.run("muster", "experiment", verb, experiment, check=False)
        assert refused.code == 1 and f"experiment {experiment} has ended" in refused.err


def test_a_failing_script_is_tried_again_and_then_given_up(cluster):
    file = write(cluster, "name: broken\nentrypoint: 'echo try $MUSTER_RUN_ID; exit 3'\nmax_restarts: 2\n"
                          "searcher: {name: single, metric: loss}\n")
    experiment = create(cluster, file)
    wait(cluster, experiment, code=1)
    (trial,) = trials(cluster, experiment)
    assert (trial["STATE"], trial["RUNS"], trial["WHY"]) == ("ERROR", "3", "FAILED with exit code 3, after 2 restarts")
    assert (folder(cluster, experiment, trial["TRIAL"]) / "output.log").read_text() == "try 1\ntry 2\ntry 3\n"


def test_the_code_is_as_it_was_and_where_nothing_else_is(cluster):
    file = write(cluster, "name: snapshot\nentrypoint: ['cat', 'note.txt']\nsearcher: {name: single, metric: loss}\n")
    (cluster.work / "code" / "note.txt").write_text("as created\n")
    (cluster.work / "code" / "secret.bin").write_text("x")
    (cluster.work / "code" / ".detignore").write_text("secret.bin\n")
    experiment = create(cluster, file, "--paused")
    (cluster.work / "code" / "note.txt").write_text("changed since\n")
    cluster.run("muster", "experiment", "activate", experiment)
    wait(cluster, experiment)
    (trial,) = trials(cluster, experiment)
    place = folder(cluster, experiment, trial["TRIAL"])
    assert (place / "output.log").read_text() == "as created\n"
    assert not (place / "code" / "secret.bin").exists()
    for name in ("note.txt", "secret.bin", ".detignore"):
        (cluster.work / "code" / name).unlink()


def test_an_entrypoint_runs_once_on_each_node(cluster):
    file = write(cluster, "name: wide\nentrypoint: 'echo {{hp.word}} on $SLURMD_NODENAME'\nhyperparameters: {word: hello}\n"
                          "resources: {slots_per_trial: 4}\nsearcher: {name: single, metric: loss}\n")
    experiment = create(cluster, file)
    wait(cluster, experiment)
    (trial,) = trials(cluster, experiment)
    said = (folder(cluster, experiment, trial["TRIAL"]) / "output.log").read_text()
    assert sorted(said.splitlines()) == ["hello on node1", "hello on node2"]


def test_scancel_of_the_job_cancels_the_trial(cluster):
    experiment = create(cluster, single(cluster, "environment: {environment_variables: [BUSY=0.2, EPOCHS=1000]}\n"))
    (trial,) = until(lambda: [row for row in trials(cluster, experiment) if row["STATE"] == "RUNNING"])
    cluster.run("scancel", trial["JOB"])
    wait(cluster, experiment, code=2)


def test_mistakes_are_named(cluster):
    file = write(cluster, "name: x\nentrypoint: x\nsearcher: {name: single, metrc: loss}\n")
    result = cluster.run("muster", "experiment", "create", file, check=False)
    assert result.code == 1 and "experiment.yaml: line 3: searcher.metrc: there is no such field here; is it 'metric'?" in result.err
    file = write(cluster, "name: x\nentrypoint: x\nresources: {resource_pool: none}\nsearcher: {name: single, metric: loss}\n")
    result = cluster.run("muster", "experiment", "create", file, check=False)
    assert result.code == 1 and "invalid partition specified: none" in result.err.lower(), result
    assert cluster.run("muster", "experiment", "describe", 4711, check=False).err == \
        "muster experiment describe: error: there is no experiment 4711: see muster experiment list\n"
    assert "is not set" in cluster.run("muster", "report", "loss=1", check=False).err
    for trial in ("256", "70000", "4294967295"):  # of no experiment here, but numbers of trials
        said = cluster.run("muster", "report", "loss=1", env={"MUSTER_TRIAL_ID": trial, "MUSTER_RUN_ID": "1"}, check=False)
        assert said.code != 0 and f"there is no trial {trial}" in said.err, said
    for trial in ("4294967296", "-1", "0"):
        said = cluster.run("muster", "report", "loss=1", env={"MUSTER_TRIAL_ID": trial, "MUSTER_RUN_ID": "1"}, check=False)
        assert said.code != 0 and "MUSTER_TRIAL_ID" in said.err, said
    assert "'loss' is not NAME=NUMBER" in cluster.run("muster", "report", "loss", env={"MUSTER_TRIAL_ID": "1", "MUSTER_RUN_ID": "1"}, check=False).err
    assert cluster.run("muster", "experiment", "create", file, "nowhere", check=False).code == 1


@pytest.mark.parametrize("victim", ["controller", "agent-node1"])
def test_a_search_survives_kill_9(own_cluster, victim):
    cluster = own_cluster(nodes=1, cpus=4)
    experiment = create(cluster, write(cluster, ASHA + "environment: {environment_variables: [BUSY=0.1]}\n"))
    for _ in range(3):
        time.sleep(0.7)
        os.kill(cluster.pid(victim), signal.SIGKILL)
        time.sleep(0.2)
        cluster.up()
    wait(cluster, experiment)
    rows = trials(cluster, experiment)
    assert len(rows) == 12 and {row["STATE"] for row in rows} == {"COMPLETED"}, rows
    assert {row["AT"] for row in rows if row["WHY"] == "trained in full"} == {"16"}
    cluster.run("muster", "check", "--dir", cluster.dir)


def test_code_that_is_too_large_is_refused_with_the_way_out(cluster):
    file = write(cluster, "name: big\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\n")
    data = cluster.work / "code" / "data.bin"
    data.write_bytes(os.urandom(57 << 20))
    result = cluster.run("muster", "experiment", "create", file, "code", check=False)
    assert result.code == 1 and "the code comes to more than 56 MiB: name data and results in .detignore" in result.err
    data.write_bytes(os.urandom(20 << 20))
    wait(cluster, create(cluster, file))
    data.unlink()


def test_two_clusters_that_are_used_from_one_folder_keep_apart(own_cluster):
    """Each counts its experiments from 1: neither runs the other's code, nor deletes what it wrote."""
    first, second = own_cluster(nodes=1), own_cluster(nodes=1)
    shared = first.work
    (shared / "code").mkdir()
    (shared / "one.yaml").write_text("name: one\nentrypoint: ./say.sh\nsearcher: {name: single, metric: m}\n")
    for cluster, word in ((first, "the first's"), (second, "the second's")):
        (shared / "code" / "say.sh").write_text(f'#!/bin/sh\necho "{word}"\n')
        (shared / "code" / "say.sh").chmod(0o755)
        said = cluster.run("muster", "experiment", "create", "one.yaml", "code", cwd=shared).out
        assert said.startswith("Created experiment 1\n"), said
        wait(cluster, 1)
    outputs = lambda: {file.read_text().strip() for file in (shared / "muster-runs").glob("experiment-1-*/trial-1/output.log")}
    assert outputs() == {"the first's", "the second's"}
    first.run("muster", "experiment", "delete", 1)
    until(lambda: first.run("muster", "experiment", "describe", 1, check=False).code != 0, "it is deleted")
    until(lambda: outputs() == {"the second's"}, "the other's is left")


def test_a_queued_trial_says_why_as_squeue_does(own_cluster):
    cluster = own_cluster(nodes=1, cpus=1)
    (cluster.work / "code").mkdir()
    (cluster.work / "two.yaml").write_text(
        "name: two\nentrypoint: sleep 300\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n"
        "searcher: {name: random, metric: m, max_trials: 3, max_concurrent_trials: 3}\n")
    experiment = create(cluster, "two.yaml")
    until(lambda: {row["STATE"] for row in trials(cluster, experiment)} == {"RUNNING", "QUEUED"}, "one runs")
    def says_the_same():
        queued = {row["JOB"]: row["WHY"] for row in trials(cluster, experiment) if row["STATE"] == "QUEUED"}
        reasons = dict(line.split() for line in cluster.run("squeue", "-h", "-t", "PD", "-o", "%i (%r)").out.splitlines())
        return queued == reasons and "(None)" not in queued.values()
    until(says_the_same, "both say the same")
