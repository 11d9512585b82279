"""Searches that take trials further, with scripts that end at the target of their run, as `searcher.operations()` has it: every trial is
trained as far as the search's definition says, whether the controller lives or not."""
import os
import signal
import sys
from collections import Counter

import pytest

from conftest import ROOT, until
from test_experiment import create, epochs_of, folder, trials, wait
from test_training import write

pytestmark = pytest.mark.long

PYTHON = f"env PYTHONPATH={ROOT / 'python'} PYTHONDONTWRITEBYTECODE=1 {sys.executable}"

# Trains to the target of its run and ends, while the search may be taking it further already.
TRAIN = """\
import muster

with muster.core.init() as context:
    file = context.info.run_dir / "epoch"
    done = int(file.read_text()) if file.exists() else 0
    for operation in context.searcher.operations():
        while done < operation.length:
            done += 1
            file.write_text(str(done))
            context.train.report_validation_metrics(done, {"loss": context.info.hparams["x"] + 1 / done, "epochs": done})
        operation.report_completed(context.info.hparams["x"] + 1 / done)
"""


def search(cluster, searcher):
    file = write(cluster, {"name": "exact", "entrypoint": f"{PYTHON} train.py", "resources": {"slots_per_trial": 0},
                           "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1}},
                           "searcher": {"metric": "loss", "time_metric": "epochs", "max_concurrent_trials": 6, **searcher}}, train=TRAIN)
    return create(cluster, file)


@pytest.mark.parametrize("searcher, due", [
    ({"name": "sync_halving", "num_rungs": 3, "max_trials": 9, "divisor": 3, "max_time": 9}, {1: 6, 3: 2, 9: 1}),
    ({"name": "pbt", "population_size": 4, "num_rounds": 3, "length_per_round": 2,
      "replace_function": {"truncate_fraction": 0.25}, "time_metric": "epochs"}, None),
    # Brackets of 9, 5 and 3 trials that begin with 1, 3 and 9 epochs (Li et al., JMLR 2018, algorithm 1).
    ({"name": "hyperband", "divisor": 3, "max_time": 9, "max_concurrent_trials": 17}, {1: 6, 3: 6, 9: 5})], ids=["sync_halving", "pbt", "hyperband"])
def test_each_trial_is_trained_as_far_as_the_search_says(cluster, searcher, due):
    experiment = search(cluster, searcher)
    until(lambda: len(trials(cluster, experiment)) >= 2)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    cluster.up()
    wait(cluster, experiment, timeout=240)
    rows = trials(cluster, experiment)
    assert all(row["STATE"] == "COMPLETED" and row["WHY"] for row in rows), rows
    trained = Counter(epochs_of(cluster, experiment, row["TRIAL"]) for row in rows)
    if due is not None:
        assert trained == due, rows
    else:
        assert len(rows) == 6 and sum(epochs * count for epochs, count in trained.items()) == 4 * 3 * 2, rows
    checked = cluster.run("muster", "check", "--dir", cluster.dir)
    assert "found:" not in checked.out


@pytest.mark.parametrize("searcher", [{"name": "async_halving", "num_rungs": 3, "divisor": 3, "stop_once": False},
                                      {"name": "adaptive_asha", "max_rungs": 3, "divisor": 3, "bracket_rungs": [3], "stop_once": False}], ids=lambda one: one["name"])
def test_asynchronous_promotions_are_trained_out(cluster, searcher):
    """How many are promoted depends on who comes first; what a promotion is for, and that the best are, does not."""
    experiment = search(cluster, {**searcher, "max_trials": 9, "max_time": 9})
    until(lambda: len(trials(cluster, experiment)) >= 3)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    cluster.up()
    wait(cluster, experiment, timeout=240)
    rows = trials(cluster, experiment)
    assert len(rows) == 9 and all(row["STATE"] == "COMPLETED" and row["WHY"] for row in rows), rows
    trained = Counter(epochs_of(cluster, experiment, row["TRIAL"]) for row in rows)
    assert set(trained) <= {1, 3, 9}, rows
    assert trained[9] >= 1 and trained[3] + trained[9] >= 3, rows


# A model of one weight under Muster's own Trainer, which ends at the target of its run. Each batch is a line of a file.
TRAINER = """\
import torch
from muster import pytorch


class Line(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 1)), batch_size=4)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        with open(self.context.core.info.run_dir / "batches", "a", encoding="utf-8") as file:
            file.write(f"{batch_idx + 1}\\n")
        loss = self.model(batch[0]).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"training_loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        return {"loss": torch.tensor(self.context.get_hparam("x"))}


torch.set_num_threads(1)
with pytorch.init() as context:
    pytorch.Trainer(Line(context), context).fit()
"""


@pytest.mark.parametrize("searcher, due", [
    ({"name": "sync_halving", "num_rungs": 3, "max_trials": 9, "divisor": 3, "max_time": 18}, {2: 6, 6: 2, 18: 1}),
    ({"name": "pbt", "population_size": 3, "num_rounds": 2, "length_per_round": 4, "replace_function": {"truncate_fraction": 0.34}}, None)],
    ids=["sync_halving", "pbt"])
def test_musters_trainer_trains_each_trial_as_far_as_the_search_says(cluster, searcher, due):
    pytest.importorskip("torch")
    config = {"name": "trainer", "entrypoint": f"{PYTHON} train.py", "resources": {"slots_per_trial": 0}, "max_restarts": 0,
              "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1}},
              "searcher": {"metric": "loss", "time_metric": "batches", "max_concurrent_trials": 3, **searcher}}
    experiment = create(cluster, write(cluster, config, train=TRAINER))
    wait(cluster, experiment, timeout=240)
    rows = trials(cluster, experiment)
    assert all(row["STATE"] == "COMPLETED" and row["WHY"] for row in rows), rows
    trained = {}
    for row in rows:
        batches = [int(line) for line in (folder(cluster, experiment, row["TRIAL"]) / "batches").read_text().split()]
        trained[row["TRIAL"]] = len(batches)
        assert batches == list(range(batches[0], batches[0] + len(batches))), f"trial {row['TRIAL']} trained a batch twice or left one out"
        assert row["AT"] == str(batches[-1]), row
    if due is not None:
        assert Counter(trained.values()) == due, rows
    else:  # three trials of a round and, of the second, one that goes on from a copy of the best
        assert sorted(trained.values()) == [4, 4, 8, 8], rows


def test_a_script_that_ends_short_twice_fails_and_says_so(cluster):
    file = write(cluster, {"name": "short", "entrypoint": "true", "resources": {"slots_per_trial": 0},
                           "searcher": {"name": "sync_halving", "metric": "loss", "num_rungs": 2, "max_trials": 2, "divisor": 2,
                                        "time_metric": "epochs", "max_time": 8}})
    experiment = create(cluster, file)
    wait(cluster, experiment, code=1)
    for row in trials(cluster, experiment):
        assert row["STATE"] == "ERROR" and row["RUNS"] == "2" and "ended twice with exit code 0 at 0 of 4" in row["WHY"], row


def test_a_metric_that_no_report_carries_ends_the_experiment(cluster):
    file = write(cluster, {"name": "typo", "entrypoint": "muster report validation_loss=0.5 epochs=1 && sleep 60",
                           "resources": {"slots_per_trial": 0},
                           "searcher": {"name": "random", "metric": "validation_los", "max_trials": 50, "max_concurrent_trials": 2}})
    experiment = create(cluster, file)
    wait(cluster, experiment, code=1)
    told = cluster.run("muster", "experiment", "describe", experiment).out
    assert "lacks validation_los, the experiment's searcher.metric; reported were epochs, validation_loss; write searcher.metric: validation_loss" in told
    assert len(trials(cluster, experiment)) == 2


def test_several_nodes_need_no_srun_in_path_and_a_shells_words_are_in_the_log(cluster):
    config = {"name": "wide", "entrypoint": "echo here on $SLURMD_NODENAME; no-such-program-here", "max_restarts": 0,
              "resources": {"slots_per_trial": 4}, "searcher": {"name": "single", "metric": "loss"},
              "environment": {"environment_variables": ["PATH=/usr/bin:/bin"]}}
    experiment = create(cluster, write(cluster, config))
    wait(cluster, experiment, code=1)
    (row,) = trials(cluster, experiment)
    lines = cluster.run("muster", "trial", "logs", row["TRIAL"], "--plain").out
    assert "here on node1" in lines and "here on node2" in lines and "no-such-program-here" in lines, lines
    assert "srun: not found" not in lines
