"""Trainings that are real, on CPUs: ranks over two nodes, and a search of 64 trials.

The first needs Debian's torch, both its scikit-learn; what is not there is skipped by name. Everything the controller is said to
know is asked of it over HTTP.
"""
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from test_experiment import create, folder, trials, wait
from test_http import Web

PACKAGE = ROOT / "python"
PYTHON = f"env PYTHONPATH={PACKAGE} PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 {sys.executable}"
TIMEOUT_S = 240  # for a training, on a busy machine


def write(cluster, config, **files):
    """An experiment's file and its code; the answer is the file's name."""
    code = cluster.work / "code"
    shutil.rmtree(code, ignore_errors=True)
    code.mkdir()
    for name, text in files.items():
        (code / f"{name}.py").write_text(text)
    (cluster.work / "experiment.yaml").write_text(json.dumps(config))
    return "experiment.yaml"


def series(web, trial):
    """Every report of a trial that the controller shows, in the order of steps: {"validation at 10: accuracy": 0.9, ...}."""
    found = {}
    for group, kind in (("training", "METRIC_TYPE_TRAINING"), ("validation", "METRIC_TYPE_VALIDATION")):
        answer = web.get(f"trials/{trial}/workloads?limit=10000&metricType={kind}")
        assert len(answer["workloads"]) == answer["pagination"]["total"]
        for each in answer["workloads"]:
            each = each[group]
            for name, value in each["metrics"]["avgMetrics"].items():
                place = f"{group} at {each['totalBatches']}: {name}"
                assert place not in found, f"{place} twice"
                found[place] = value
    return found


def checkpoints(web, trial):
    """Those that are whole, by steps."""
    listed = web.get(f"trials/{trial}/checkpoints?limit=10000")["checkpoints"]
    whole = [each for each in listed if each["state"] == "STATE_COMPLETED"]
    return sorted(whole, key=lambda each: each["metadata"]["steps_completed"])


def show_figures(what, **figures):
    """For whoever runs pytest with -s."""
    print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in figures.items()))


# ---- ranks over two nodes ----

RANKED = """import os
import sys
import digits
print("rank {RANK} of {WORLD_SIZE} is local rank {LOCAL_RANK} on {SLURMD_NODENAME}".format(**os.environ), flush=True)
sys.exit(digits.main())
"""


def test_digits_on_two_nodes_of_two_ranks(own_cluster):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    cluster = own_cluster(nodes=2, cpus=2)
    web = Web(cluster)
    file = write(cluster, {
        "name": "digits-ddp", "entrypoint": f"{PYTHON} -m muster.launch.torch_distributed --nproc-per-node 2 --prefix train.py",
        "hyperparameters": {"lr": 0.2, "epochs": 10}, "resources": {"slots_per_trial": 4}, "max_restarts": 0,
        "searcher": {"name": "single", "metric": "accuracy", "smaller_is_better": False}},
        train=RANKED, digits=(ROOT / "examples/trainer/train.py").read_text())
    experiment = create(cluster, file)
    wait(cluster, experiment, timeout=TIMEOUT_S)
    (row,) = trials(cluster, experiment)
    trial = row["TRIAL"]
    lines = cluster.run("muster", "trial", "logs", trial, "--plain").out
    for rank in range(4):
        said = f"rank {rank} of 4 is local rank {rank % 2} on node{rank // 2 + 1}"
        assert said in cluster.run("muster", "trial", "logs", trial, "--plain", "--rank", rank).out.splitlines(), lines
    known = series(web, trial)
    accuracies = [known[f"validation at {epoch * 23}: accuracy"] for epoch in range(1, 11)]
    losses = [value for place, value in known.items() if place.startswith("training at ") and place.endswith(": loss")]
    assert accuracies[-1] > 0.96 and accuracies[0] < accuracies[-1] and losses[-1] < losses[0] / 4, known
    shown = web.get(f"trials/{trial}")["trial"]
    best = shown["bestValidation"]["metrics"]["avgMetrics"]["accuracy"]
    assert best == max(accuracies) == web.get(f"experiments/{experiment}/searcher/best_searcher_validation_metric")["metric"]
    assert shown["state"] == "STATE_COMPLETED" and shown["totalBatchesProcessed"] == 230
    last = checkpoints(web, trial)[-1]
    place = folder(cluster, experiment, trial).parents[1] / last["uuid"]
    assert {f"rank-{rank}.pt" for rank in range(4)} | {"state.pt", "trainer.json"} <= set(last["resources"])
    for name, size in last["resources"].items():
        assert name.endswith("/") or (place / name).stat().st_size == int(size), name
    show_figures("two nodes of two ranks", accuracy=accuracies[-1], best=best, checkpoint=last["uuid"])


# ---- a search ----

# A network of one hidden layer, in numpy alone, as 64 starts of torch are slow. What was answered it also writes to `said`.
# Whether a rung cuts a trial is decided a moment after its report is answered. Where the rungs are it waits for that, so that how
# long it trains does not depend on who is faster.
SEARCHED = """import json
import os
import time
from pathlib import Path

import numpy

from muster import core


def hidden(weights, pixels):
    return numpy.maximum(0, pixels @ weights[0] + weights[1])


def gradients(weights, pixels, labels):
    inner = hidden(weights, pixels)
    scores = inner @ weights[2] + weights[3]
    shares = numpy.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    shares[numpy.arange(len(labels)), labels] -= 1
    shares /= len(labels)
    back = shares @ weights[2].T * (inner > 0)
    return [pixels.T @ back, back.sum(0), inner.T @ shares, shares.sum(0)]


def main():
    data = numpy.load("digits.npz")
    pixels, labels = data["pixels"] / 16, data["labels"]
    cut = int(0.8 * len(labels))
    with core.init() as context:
        lr, width = context.info.hparams["lr"], context.info.hparams["hidden"]
        chance = numpy.random.default_rng(context.info.seed)
        weights = [chance.normal(0, 0.15, (64, width)), numpy.zeros(width), chance.normal(0, 0.15, (width, 10)), numpy.zeros(10)]
        moments = [numpy.zeros_like(each) for each in weights]
        for epoch in range(1, 17):
            for batch in numpy.array_split(chance.permutation(cut), cut // 32):
                for weight, moment, gradient in zip(weights, moments, gradients(weights, pixels[batch], labels[batch])):
                    moment *= 0.9
                    moment -= lr * gradient
                    weight += moment
            guesses = (hidden(weights, pixels[cut:]) @ weights[2] + weights[3]).argmax(1)
            accuracy = float((guesses == labels[cut:]).mean())
            context.train.report_validation_metrics(epoch, {"accuracy": accuracy, "epochs": epoch})
            context.train.flush()
            with open(Path(os.environ["MUSTER_RUN_DIR"]) / "said", "a", encoding="ascii") as said:
                print(json.dumps([epoch, accuracy]), file=said)
            deadline = time.monotonic() + (3 if epoch in (1, 4) else 0)
            while not context.preempt.should_preempt() and time.monotonic() < deadline:
                time.sleep(0.01)
            if context.preempt.should_preempt():
                break
        with context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
            numpy.savez(path / "weights.npz", *weights)


main()
"""


@pytest.mark.long
def test_adaptive_asha_over_64_trials_of_digits(own_cluster):
    numpy = pytest.importorskip("numpy")
    datasets = pytest.importorskip("sklearn.datasets")
    cluster = own_cluster(nodes=1, cpus=8)
    web = Web(cluster)
    file = write(cluster, {
        "name": "digits-asha", "entrypoint": f"{PYTHON} train.py",
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": 0.5},
                            "hidden": {"type": "int", "minval": 4, "maxval": 64}},
        "searcher": {"name": "adaptive_asha", "metric": "accuracy", "smaller_is_better": False, "max_trials": 64,
                     "max_concurrent_trials": 8, "time_metric": "epochs", "max_time": 16},
        "reproducibility": {"experiment_seed": 20}, "max_restarts": 0}, train=SEARCHED)
    digits = datasets.load_digits()
    order = numpy.random.default_rng(7).permutation(len(digits.target))
    numpy.savez(cluster.work / "code/digits.npz", pixels=digits.data[order].astype("uint8"), labels=digits.target[order])
    experiment = create(cluster, file)
    wait(cluster, experiment, timeout=TIMEOUT_S)
    rows = trials(cluster, experiment)
    assert len(rows) == 64 and {row["STATE"] for row in rows} == {"COMPLETED"} and {row["RUNS"] for row in rows} == {"1"}
    trained = {}
    for row in rows:
        known = series(web, row["TRIAL"])
        said = [json.loads(line) for line in (folder(cluster, experiment, row["TRIAL"]) / "said").read_text().splitlines()]
        trained[row["TRIAL"]] = len(said)
        assert [epoch for epoch, _ in said] == list(range(1, len(said) + 1))
        assert known == {f"validation at {epoch}: {name}": value for epoch, accuracy in said
                         for name, value in (("accuracy", accuracy), ("epochs", epoch))}
        assert row["AT"] == str(len(said)) and float(row["METRIC"]) == pytest.approx(said[-1][1], abs=1e-4), (row, said)
        assert [each["metadata"]["steps_completed"] for each in checkpoints(web, row["TRIAL"])] == [len(said)]
    # Rungs at 1, 4 and 16 in one bracket, 4 and 16 in the other, which has 17 trials.
    allowed = {"cut at rung 0": {1, 4}, "cut at rung 1": {4}, "trained in full": {16}}
    for row in rows:
        assert trained[row["TRIAL"]] in allowed[row["WHY"].split(":")[0]], (row, rows)
    at_once = [row for row in rows if trained[row["TRIAL"]] == 1]
    full = [row for row in rows if row["WHY"] == "trained in full"]
    assert len(at_once) >= 20 and 2 <= len(full) <= 24 and sum(trained.values()) < 64 * 16 / 2, trained
    assert sum(row["WHY"].startswith("cut at rung 0") and trained[row["TRIAL"]] == 4 for row in rows) <= 17
    best = max(rows, key=lambda row: float(row["METRIC"]))
    reached = web.get(f"experiments/{experiment}/searcher/best_searcher_validation_metric")["metric"]
    assert best in full and reached > 0.95, best
    shown = [web.get(f"trials/{row['TRIAL']}")["trial"]["bestValidation"] for row in rows]
    assert reached == max(each["metrics"]["avgMetrics"]["accuracy"] for each in shown)
    show_figures("adaptive ASHA", best=reached, stopped=64 - len(full), epochs=sum(trained.values()))
