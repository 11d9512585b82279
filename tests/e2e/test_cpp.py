"""A trainer in C++ as a trial, with real daemons: it reports, is paused, outlives its controller and goes on exactly."""
import os
import re
import signal
import subprocess

import pytest

from conftest import BIN, experiment_folder, until
from test_experiment import create, trials, wait
from test_http import Web

PROGRAM = BIN / "muster-cpp-example"
TIMEOUT_S = 120

CONFIG = """
name: cpp
entrypoint: {program}
hyperparameters: {{lr: 0.02, epochs: 40, pause_s: 0.1}}
reproducibility: {{experiment_seed: 11}}
searcher: {{name: single, metric: accuracy, smaller_is_better: false}}
max_restarts: 0
checkpoint_storage: {{type: shared_fs, host_path: {storage}, save_trial_latest: 1, save_trial_best: 0}}
"""


def reported(web, trial):
    """(steps, accuracy) of every validation that the controller has."""
    answer = web.get(f"trials/{trial}/workloads?limit=10000&metricType=METRIC_TYPE_VALIDATION")
    return [(each["validation"]["totalBatches"], each["validation"]["metrics"]["avgMetrics"]["accuracy"]) for each in answer["workloads"]]


def test_a_trainer_in_cpp_is_paused_and_goes_on_exactly(own_cluster):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    cluster = own_cluster(nodes=1)
    web = Web(cluster)
    (cluster.work / "code").mkdir()
    (cluster.work / "code" / "note").write_text("the program itself is elsewhere")
    (cluster.work / "experiment.yaml").write_text(CONFIG.format(program=PROGRAM, storage=cluster.work / "storage"))
    experiment = create(cluster, "experiment.yaml")
    trial = until(lambda: trials(cluster, experiment))[0]["TRIAL"]
    until(lambda: len(reported(web, trial)) > 2, timeout=TIMEOUT_S)
    cluster.run("muster", "experiment", "pause", experiment)
    until(lambda: trials(cluster, experiment)[0]["STATE"] == "WAITING", timeout=TIMEOUT_S)
    assert web.get(f"experiments/{experiment}")["experiment"]["state"] == "STATE_PAUSED"
    cluster.run("muster", "experiment", "activate", experiment)
    until(lambda: reported(web, trial)[-1][0] > 12, timeout=TIMEOUT_S)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    cluster.up()
    wait(cluster, experiment, timeout=TIMEOUT_S)
    place = experiment_folder(cluster.work / "storage", experiment) / f"trial-{trial}"
    output = (place / "output.log").read_text()
    (first, seed), (second, _) = re.findall(r"begins after epoch (\d+) with seed (\d+)", output)
    assert first == "0" and 2 <= int(second) < 40, output
    web = Web(cluster)
    values = reported(web, trial)
    assert [steps for steps, _ in values] == list(range(1, 41))
    (last,) = [one for one in web.get(f"trials/{trial}/checkpoints?limit=100")["checkpoints"] if one["state"] == "STATE_COMPLETED"
               and one["metadata"]["steps_completed"] == 40]
    assert (place.parents[1] / last["uuid"] / "model.bin").stat().st_size == int(last["resources"]["model.bin"])
    alone = subprocess.run([PROGRAM], env={"MUSTER_RUN_DIR": str(cluster.work / "alone"), "MUSTER_SEED": seed}, check=True, timeout=TIMEOUT_S,
                           capture_output=True, text=True).stdout
    fingerprint = re.search(r"fingerprint \w+", alone).group()
    assert f"accuracy {values[-1][1]:.4f}, {fingerprint}" in output, "the weights are those of a training that nobody interrupted"
