"""The reader of Determined clusters, pointed at Muster's own REST API: what it reads is what the commands and the API show."""
import json
import subprocess
import sys

import pytest

from conftest import ROOT
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
