"""The reader of Determined clusters, pointed at Muster's own REST API: what it reads is what the commands and the API show."""
import json
import subprocess
import sys

import pytest

from conftest import ROOT, experiment_folder
from test_experiment import create, trials, wait
from test_http import Web

TRAIN = """\
from muster import core

with core.init() as context:
    for step in range(1, 601):
        context.train.report_training_metrics(step, {"loss": 1.0 / step, "note": "x"})
        if step % 200 == 0:
            context.train.report_validation_metrics(step, {"accuracy": float("nan") if step == 200 else step / 600})
            context.train.report_metrics("mine", step, {"deep": step})
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "state").write_text(str(step))
    context.train.set_metadata({"who": "me"})
"""

CONFIG = """
name: moved
description: to be read
labels: [a, b]
entrypoint: env PYTHONPATH={package} {python} train.py
hyperparameters: {{lr: {{type: double, minval: 0.1, maxval: 0.2}}}}
searcher: {{name: random, metric: accuracy, smaller_is_better: false, max_trials: 2}}
max_restarts: 0
checkpoint_storage: {{type: shared_fs, host_path: {storage}, save_trial_latest: 5}}
"""


@pytest.fixture
def read(cluster):
    """Runs the reader; the answer is (exit code, records but the source's by kind, what it printed)."""
    def run(*more):
        web = Web(cluster)
        (cluster.work / "token").write_text(web.token)
        out = cluster.work / "records"
        out.unlink(missing_ok=True)
        words = [sys.executable, "-m", "muster.moving", "determined", "--url", f"http://{web.address}", "--token-file", "token", "--out", str(out), *map(str, more)]
        done = subprocess.run(words, cwd=cluster.work, env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=120,
                              check=False)
        kinds = {}
        for line in out.read_text().splitlines()[1:]:
            record = json.loads(line)
            kinds.setdefault(record["kind"], []).append(record)
        return done, kinds

    return run


def test_what_is_read_is_what_there_is(cluster, read):
    web = Web(cluster)
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "code" / "train.py").write_text(TRAIN)
    (cluster.work / "experiment.yaml").write_text(CONFIG.format(package=ROOT / "python", python=sys.executable, storage=cluster.work / "storage"))
    experiment = create(cluster, "experiment.yaml")
    running = create(cluster, "experiment.yaml", "--paused")
    wait(cluster, experiment)
    rows = {int(row["TRIAL"]): row for row in trials(cluster, experiment)}
    checkpoints = web.get(f"experiments/{experiment}/checkpoints?limit=100")["checkpoints"]
    web.post("models", {"name": "a model", "metadata": {"k": 1}, "labels": ["l"]})
    web.post("models/a%20model/versions", {"checkpointUuid": checkpoints[0]["uuid"], "comment": "c"})

    done, records = read()
    assert done.returncode == 0, done.stderr
    assert "not moved: 1 experiments in state PAUSED" in done.stdout
    (moved,) = [each for each in records["experiment"] if each["id"] == experiment]
    assert running not in [each["id"] for each in records["experiment"]]
    assert (moved["name"], moved["description"], moved["labels"], moved["state"]) == ("moved", "to be read", ["a", "b"], "COMPLETED")
    assert moved["config"]["searcher"]["max_trials"] == 2 and "to be read" in moved["original_config"]
    assert moved["project"] in [each["id"] for each in records["project"]] and moved["owner"] in [each["id"] for each in records["user"]]
    assert {each["id"] for each in records["trial"]} == set(rows)
    for trial in records["trial"]:
        assert trial["state"] == "COMPLETED" and 0.1 <= trial["hparams"]["lr"] <= 0.2 and trial["steps_completed"] == 600 and trial["metadata"] == {"who": "me"}
        own = [each for each in records["metrics"] if each["trial"] == trial["id"]]
        assert [each["steps"] for each in own if each["group"] == "training"] == list(range(1, 601))
        assert [each["metrics"] for each in own if each["group"] == "validation"] == [{"accuracy": "NaN"}, {"accuracy": 400 / 600}, {"accuracy": 1.0}]
        assert [each["metrics"] for each in own if each["group"] == "mine"] == [{"deep": 200}, {"deep": 400}, {"deep": 600}]
        assert {each["run"] for each in own} == {1}
    assert {each["uuid"]: each["resources"] for each in records["checkpoint"]} == {
        each["uuid"]: {path: int(size) for path, size in each["resources"].items()} for each in checkpoints}
    assert {json.dumps(each["storage"]) for each in records["checkpoint"]} == {json.dumps({"type": "shared_fs", "host_path": str(cluster.work / "storage")})}
    (model,), (version,) = records["model"], records["model_version"]
    assert (model["name"], model["metadata"], model["labels"]) == ("a model", {"k": 1}, ["l"])
    assert (version["model"], version["version"], version["checkpoint"], version["comment"]) == (model["id"], 1, checkpoints[0]["uuid"], "c")

    done, again = read("--experiments", experiment, "--without-metrics")
    assert done.returncode == 0 and "metrics" not in again and len(again["trial"]) == 2
    cluster.run("muster", "experiment", "kill", running)


def records_in(text):
    """By kind, without what differs from cluster to cluster: users' numbers, the source's own facts."""
    kinds = {}
    for line in text.splitlines()[1:]:
        record = json.loads(line)
        if record["kind"] != "user":
            kinds.setdefault(record["kind"], []).append({name: value for name, value in record.items() if name != "owner"})
    return kinds


def test_a_history_moves_in_and_reads_the_same(cluster, own_cluster, read):
    """What is read of a cluster into which another's history was imported is that history. It is taken once, and lives on."""
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "code" / "train.py").write_text(TRAIN)
    storage = cluster.work / "moving"
    (cluster.work / "moving.yaml").write_text(CONFIG.format(package=ROOT / "python", python=sys.executable, storage=storage))
    experiment = create(cluster, "moving.yaml")
    wait(cluster, experiment)
    web = Web(cluster)
    web.post("workspaces", {"name": "Lab"})
    (checkpoint, *_) = web.get(f"experiments/{experiment}/checkpoints?limit=100")["checkpoints"]
    web.post("models", {"name": "moved model", "metadata": {"k": 1}})
    web.post("models/moved%20model/versions", {"checkpointUuid": checkpoint["uuid"]})
    done, _ = read()
    assert done.returncode == 0, done.stderr
    before = records_in((cluster.work / "records").read_text())

    other = own_cluster(nodes=1, gpus=0, cpus=2)
    environment = {"PYTHONPATH": str(ROOT / "python"), "MUSTER_PYTHON": sys.executable}
    for name in ("imported", "there already"):
        told = other.run("muster", "import", "send", cluster.work / "records", env=environment, timeout=120).out
        rows = {line.split()[0]: line.split()[1:] for line in told.splitlines() if line[:1].isalpha()}
        counted = 1 if name == "imported" else 2
        for kind in ("experiment", "trial", "checkpoint", "model", "model_version"):
            assert int(rows[kind][counted]) == len(before[kind]), told
    theirs = Web(other)
    words = [sys.executable, "-m", "muster.moving", "determined", "--url", f"http://{theirs.address}", "--token-file", "token", "--out", "again"]
    (other.work / "token").write_text(theirs.token)
    other.run(*words, env=environment, timeout=120)
    after = records_in((other.work / "again").read_text())
    assert {kind: len(all_of_it) for kind, all_of_it in after.items()} == {kind: len(all_of_it) for kind, all_of_it in before.items()}
    for kind, unlike in {"experiment": {"original_config", "project"}, "trial": {"runs", "request_id"}, "checkpoint": set(), "metrics": {"run"},
                         "model": {"id", "workspace"}, "model_version": {"model"}}.items():
        for one, same in zip(before[kind], after[kind]):
            differ = {name for name in one if one[name] != same.get(name)}
            assert differ <= unlike, (kind, {name: (one[name], same.get(name)) for name in differ - unlike})
    assert f"Experiment {experiment} (moved)" in other.run("muster", "experiment", "describe", experiment).out
    refused = other.run("muster", "experiment", "continue", experiment, check=False)
    assert refused.code == 1 and "ended in another cluster" in refused.err, refused

    # It is warm: a new experiment begins with a checkpoint that was saved in the old cluster.
    (other.work / "code").mkdir()
    (other.work / "code" / "train.py").write_text(
        "from muster import core\nwith core.init() as context:\n    assert context.info.is_warm_start\n"
        "    with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:\n        print('state', (path / 'state').read_text())\n")
    (other.work / "warm.yaml").write_text((cluster.work / "moving.yaml").read_text().replace(
        "{name: random, metric: accuracy, smaller_is_better: false, max_trials: 2}",
        f"{{name: single, metric: accuracy, source_checkpoint_uuid: {checkpoint['uuid']}}}"))
    warm = create(other, "warm.yaml")
    assert warm > experiment, "numbers that were taken over are not given again"
    wait(other, warm)
    (trial,) = trials(other, warm)
    steps = checkpoint["metadata"]["steps_completed"]
    assert f"state {steps}" in (experiment_folder(storage, warm) / f"trial-{trial['TRIAL']}" / "output.log").read_text()
    kept = other.run("muster", "experiment", "delete", experiment, check=False)
    assert kept.code == 1 and "which is in the model registry" in kept.err, kept
    other.run("muster", "experiment", "archive", experiment)


def test_a_trial_of_very_many_reports_is_shown_page_by_page(cluster):
    """Nothing is cut off: pages say how many there are, forwards and backwards, and no kind crowds out another."""
    web = Web(cluster)
    steps = range(1, 21_501)
    time = "2025-01-02T03:04:05.123456Z"
    lines = [{"kind": "source", "format": 1, "id": "crowd"},
             {"kind": "user", "id": 1, "username": "root", "display_name": "", "is_admin": True, "is_active": True},
             {"kind": "experiment", "id": 7001, "owner": "root", "state": "COMPLETED", "name": "crowd", "start_time": time, "end_time": time,
              "config": {"name": "crowd", "entrypoint": "x", "searcher": {"name": "single", "metric": "loss"}}},
             {"kind": "trial", "id": 7001, "experiment": 7001, "state": "COMPLETED", "start_time": time, "end_time": time, "hparams": {},
              "runs": [{"run": 1, "start_time": time, "end_time": time}], "steps_completed": 21_500, "restarts": 0}]
    report = lambda group, step: {"kind": "metrics", "trial": 7001, "run": 1, "group": group, "steps": step, "time": time, "metrics": {"loss": step}}
    reports = [report("training", step) for step in steps] + [report("validation", step) for step in steps if step % 20 == 0]
    taken = web.post("muster/import", "\n".join(map(json.dumps, lines + reports)), timeout=120)
    assert not taken["refused"] and taken["imported"]["metrics"] == len(reports), taken["refused"][:3]
    (experiment,) = [each["id"] for each in web.get("experiments?name=crowd")["experiments"]]
    (trial,) = [each["id"] for each in web.get(f"experiments/{experiment}/trials")["trials"]]
    path, total = f"trials/{trial}/workloads", len(reports)

    def steps_in(query):
        answer = web.get(f"{path}?{query}")
        return [(kind, each[kind]["totalBatches"]) for each in answer["workloads"] for kind in each], answer["pagination"]

    first, pages = steps_in("")
    assert len(first) == pages["endIndex"] == 20_000 and pages["total"] == total
    rest, _ = steps_in("offset=20000")
    expected = sorted([("training", step) for step in steps] + [("validation", step) for step in steps if step % 20 == 0], key=lambda each: (each[1], each[0]))
    assert first + rest == expected
    assert steps_in("orderBy=ORDER_BY_DESC&limit=3")[0] == [("validation", 21_500), ("training", 21_500), ("training", 21_499)]
    assert steps_in("offset=-2")[0] == expected[-2:]
    validations, pages = steps_in("metricType=METRIC_TYPE_VALIDATION&limit=2&offset=1070")
    assert validations == [("validation", 21_420), ("validation", 21_440)] and pages["total"] == 1_075
