"""What `import muster` alone gives."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import muster
from muster.cluster_info import ClusterInfo, TrialInfo, read_cluster_info

TASK = {
    "DET_MASTER": "http://h:8080", "DET_CLUSTER_ID": "c", "DET_AGENT_ID": "node1", "DET_SLOT_IDS": "[0, 3]", "DET_TASK_ID": "3.t",
    "DET_ALLOCATION_ID": "3.t.2", "DET_SESSION_TOKEN": "s", "DET_TASK_TYPE": "TRIAL", "DET_TRIAL_ID": "70000", "DET_EXPERIMENT_ID": "3",
    "DET_TRIAL_SEED": "4294967295", "DET_TRIAL_RUN_ID": "2", "DET_HPARAMS": '{"lr": 0.1, "net": {"depth": 3}}',
    "DET_STEPS_COMPLETED": "12", "DET_LATEST_CHECKPOINT": "abc"}


def test_core_is_there_at_its_first_use_and_nothing_heavy_before():
    script = ("import sys, muster\n"
              "assert 'muster.core' not in sys.modules and 'torch' not in sys.modules\n"
              "with muster.core.init(run_dir=sys.argv[1]) as context: context.train.report_training_metrics(1, {'loss': 1.0})\n"
              "assert muster.get_cluster_info() is None\n")
    package = Path(muster.__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", script, folder + "/run"], check=True, env={**os.environ, "PYTHONPATH": str(package)})


def test_what_it_does_not_have_is_named():
    with pytest.raises(AttributeError, match="no attribute 'cor'"):
        muster.cor


def test_cluster_info_of_a_trial():
    assert read_cluster_info(TASK) == ClusterInfo(
        "http://h:8080", "c", "node1", [0, 3], "3.t", "3.t.2", "s", "TRIAL", "abc", {},
        TrialInfo(70000, 3, 4294967295, {"lr": 0.1, "net": {"depth": 3}}, 12, 2))
    assert read_cluster_info(TASK).trial.hparams["lr"] == 0.1
    assert read_cluster_info({**TASK, "DET_LATEST_CHECKPOINT": ""}).latest_checkpoint is None
    assert read_cluster_info({**TASK, "DET_USER_DATA": json.dumps({"a": 1})}).user_data == {"a": 1}


def test_cluster_info_of_something_else():
    assert read_cluster_info({}) is None
    info = read_cluster_info({"DET_SESSION_TOKEN": "s", "DET_TASK_ID": "t", "DET_TASK_TYPE": "TENSORBOARD"})
    with pytest.raises(AssertionError, match="TENSORBOARD task has no trial"):
        info.trial


@pytest.mark.parametrize("name, value", [("DET_TRIAL_ID", "-1"), ("DET_TRIAL_ID", "x"), ("DET_HPARAMS", "{"), ("DET_SLOT_IDS", "one")])
def test_a_variable_that_is_wrong_is_named(name, value):
    with pytest.raises(ValueError, match=f"{name} is"):
        read_cluster_info({**TASK, name: value})
