"""Checkpoints in S3, in trials of the cluster: of this repository's package, and of Determined's own; the store is moto's."""
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from conftest import ROOT, until

sys.path.insert(0, str(ROOT / "python" / "tests"))
from s3_server import ACCESS_KEY, SECRET_KEY, S3Server  # noqa: E402  pylint: disable=wrong-import-position

NATIVE = f"env PYTHONPATH={ROOT / 'python'} python3 native_script.py"


@pytest.fixture(scope="module")
def store():
    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def made(experiments, det, store):
    """made(name, entrypoint) creates an experiment whose checkpoints go to the store. Its trials' folders lie in the user's
    home then, and are removed."""
    created = []

    def create(name, entrypoint):
        storage = store.settings(prefix=f"of/{name}", save_trial_latest=3)
        experiment = experiments.create(name, entrypoint, checkpoint_storage=storage)
        created.append(experiment)
        return experiment

    yield create
    for folder in (each for one in created for each in (Path.home() / "muster-runs").glob(f"experiment-{one}-????????")):
        shutil.rmtree(folder, ignore_errors=True)
        if folder.parent.is_dir() and not any(folder.parent.iterdir()):
            folder.parent.rmdir()


def interrupted(experiments, det, experiment):
    """Pauses it once it trains, lets it go on to its end; the answer is its trial and what that printed."""
    (trial,) = until(lambda: experiments.trials(experiment), "a trial")
    until(lambda: experiments.workloads(trial, "training"), "a report")
    det("experiment", "pause", experiment)
    until(lambda: "asked to stop at" in det("trial", "logs", trial).out, "the stop")
    det("experiment", "activate", experiment)
    det("experiment", "wait", experiment, "--polling-interval", 1, code=None)
    printed = det("trial", "logs", trial).out
    assert experiments.describe(experiment)["state"] == "STATE_COMPLETED", printed
    return trial, printed


def check(experiments, det, store, name, trial, printed, file, tmp_path):
    stopped = int(re.search(r"asked to stop at (\d+)", printed).group(1))
    assert re.findall(r"began at (\d+)", printed) == ["0", str(stopped)] and 0 < stopped < 60
    assert [each["totalBatches"] for each in experiments.workloads(trial, "training")] == list(range(1, 61))
    uuid = re.findall(r"checkpoint (\S+) at 60", printed)[-1]
    known = {each["uuid"]: each for each in experiments.workloads(trial, "checkpoint")}
    assert known[uuid]["state"] == "STATE_COMPLETED" and file in known[uuid]["resources"]
    objects = store.objects(f"of/{name}/{uuid}/")
    assert {f"of/{name}/{uuid}/{each}" for each in (file, "metadata.json")} <= objects.keys()
    det("checkpoint", "download", uuid, "-o", tmp_path / "to", "--mode", "direct")
    assert (tmp_path / "to" / file).read_bytes() == objects[f"of/{name}/{uuid}/{file}"]
    det("checkpoint", "download", uuid, "-o", tmp_path / "through", "--mode", "master")
    assert (tmp_path / "through" / file).read_bytes() == (tmp_path / "to" / file).read_bytes(), "the job has boto3 and the keys"
    shown = printed + det("experiment", "list").out + det("checkpoint", "describe", uuid).out
    assert SECRET_KEY not in shown and ACCESS_KEY not in shown
    return (tmp_path / "to" / file).read_text()


def test_files_of_a_checkpoint_in_the_store_are_removed(experiments, det, made, store):
    experiment = made("s3-thinned", "python3 core_script.py 2")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    uuid = experiments.workloads(trial, "checkpoint")[-1]["uuid"]
    state = lambda: {each["uuid"]: each["state"] for each in experiments.workloads(trial, "checkpoint")}.get(uuid)
    assert store.objects(f"of/s3-thinned/{uuid}/")
    det("checkpoint", "rm", uuid, "--glob", "**/*", "--yes")
    until(lambda: state() == "STATE_DELETED", "nothing of it is left")
    assert not store.objects(f"of/s3-thinned/{uuid}/")


def test_a_trial_of_muster_core_is_paused_and_goes_on(experiments, det, made, store, tmp_path):
    trial, printed = interrupted(experiments, det, made("s3-native", f"{NATIVE} 60 0.7"))
    assert check(experiments, det, store, "s3-native", trial, printed, "model", tmp_path) == "after 60"


def test_a_trial_of_determineds_own_package_is_paused_and_goes_on(experiments, det, made, store, tmp_path):
    trial, printed = interrupted(experiments, det, made("s3-core", "python3 core_script.py 60 0.7"))
    text = check(experiments, det, store, "s3-core", trial, printed, "state.json", tmp_path)
    assert json.loads(text) == {"done": 60}
