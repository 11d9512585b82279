"""What a trial's machine did meanwhile: measured where the experiment's file says so, and nowhere else."""
import pytest

from test_experiment import create, trials, wait
from test_http import Web
from test_output import web_lines
from test_promotion import TRAINER
from test_training import TIMEOUT_S, PYTHON, write

WITH_CORE = """import time
from muster import core
with core.init() as context:
    time.sleep(2.5)
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
"""


def slow_trainer():
    """The Trainer's script of the searches with targets, of batches that take long enough to be looked at."""
    slow = TRAINER.replace("        loss = self.model", "        time.sleep(0.3)\n        loss = self.model")
    return slow.replace("import torch\n", "import time\nimport torch\n", 1)


def profile_of(web, trial):
    """What the controller has of each group: {"cpu": [{"utilization_ratio": 0.1}], ...}."""
    found = {}
    for group in ("cpu", "disk", "memory", "network", "trial"):
        for line in web_lines(web, f"trials/metrics/trial_metrics?trialIds={trial}&group={group}"):
            found.setdefault(group, []).extend(each["metrics"]["avg_metrics"] for each in line["result"]["metrics"])
    return {group: samples for group, samples in found.items() if samples}


@pytest.mark.parametrize("writer", ["core", "trainer"])
def test_an_experiment_is_profiled_where_its_file_says_so(cluster, writer):
    if writer == "trainer":
        pytest.importorskip("torch")
    web = Web(cluster)
    config = {"name": "profiled", "entrypoint": f"{PYTHON} train.py", "resources": {"slots_per_trial": 0}, "max_restarts": 0,
              "hyperparameters": {"x": 0.5},
              "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 8}}}
    script = WITH_CORE if writer == "core" else slow_trainer()
    seen = {}
    for is_enabled in (True, False):
        settings = {"profiling": {"enabled": True}} if is_enabled else {}
        experiment = create(cluster, write(cluster, {**config, **settings}, train=script))
        wait(cluster, experiment, timeout=TIMEOUT_S)
        (row,) = trials(cluster, experiment)
        seen[is_enabled] = profile_of(web, row["TRIAL"])
        told = cluster.run("muster", "trial", "profile", row["TRIAL"], check=False)
        if is_enabled:
            assert told.code == 0 and "cpu" in told.out and "memory" in told.out, told
        else:
            assert told.code == 1 and f"trial {row['TRIAL']} has no profile" in told.err, told
    assert {"cpu", "memory", "trial"} <= set(seen[True]) and seen[False] == {}
    assert all(0 <= each["utilization_ratio"] <= 1 for each in seen[True]["cpu"])
    # The trial's own share is told apart from the machine's.
    shares = zip(seen[True]["trial"], seen[True]["memory"])
    assert all(0 < own["rss_bytes"] < machine["used_bytes"] for own, machine in shares), seen[True]
