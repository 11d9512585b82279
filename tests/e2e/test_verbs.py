"""Muster's own verbs for looking at experiments and getting what they made, as Determined's users know them."""
import json
import os
import re
import signal
import subprocess

import pytest

from test_lifecycle import Lab, TRAIN

# Two metrics that rank the checkpoints at 4, 8 and 12 steps in opposite orders.
RATED = TRAIN.replace('"epochs": done', '"epochs": done, "a b&c": float(done)')


@pytest.fixture(scope="module")
def done(cluster):
    """An experiment that has completed with three checkpoints, and its trial."""
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "code" / "train.py").write_text(RATED)
    lab = Lab(cluster)
    experiment = lab.create("12 0", storage=", save_trial_latest: 3")
    lab.wait(experiment)
    (trial,) = [each["id"] for each in shown(cluster, "experiment", "list-trials", experiment, "--json")["trials"]]
    return cluster, experiment, trial


def muster(cluster, *words, **options):
    return cluster.run("muster", *words, **options)


def shown(cluster, *words):
    return json.loads(muster(cluster, *words).out)


def steps_in(cluster, *words):
    """Of the checkpoints that were downloaded into the folders that it prints."""
    folders = muster(cluster, *words).out.splitlines()
    return [json.loads((cluster.work / each / "state.json").read_text())["done"] for each in folders]


def test_lists(done):
    cluster, experiment, trial = done
    assert re.search(rf"^{trial} +.*COMPLETED", muster(cluster, "experiment", "list-trials", experiment).out, re.M)
    every = shown(cluster, "experiment", "list-checkpoints", experiment, "--json")["checkpoints"]
    assert [each["metadata"]["steps_completed"] for each in every] == [4, 8, 12]
    rows = muster(cluster, "experiment", "lc", experiment, "--best", 2).out.splitlines()
    assert [line.split()[2] for line in rows] == ["STEPS", "12", "8"], rows
    assert experiment in [each["id"] for each in shown(cluster, "experiment", "ls", "--json")["experiments"]]
    assert shown(cluster, "experiment", "describe", experiment, "--json")["experiment"]["state"] == "STATE_COMPLETED"
    uuid = every[0]["uuid"]
    assert shown(cluster, "checkpoint", "describe", uuid, "--json")["checkpoint"]["uuid"] == uuid


def test_metrics_of_a_trial(done):
    cluster, _, trial = done
    summary = muster(cluster, "trial", "describe", trial, "--metrics-summary").out
    assert re.search(r"^validation +epochs +12 +12 +6\.5 +1 +12$", summary, re.M), summary
    reports = muster(cluster, "trial", "describe", trial, "--metrics").out
    assert len(re.findall(r"^\d+ +validation +a b&c +\d+$", reports, re.M)) == 12, reports
    whole = json.loads(muster(cluster, "trial", "describe", trial, "--metrics", "--json").out)
    assert whole["trial"]["id"] == trial and len(whole["workloads"]) == 12 + 3


def test_downloads(done):
    cluster, experiment, trial = done
    by = ["--sort-by", "a b&c", "--smaller-is-better"]
    assert steps_in(cluster, "experiment", "download", experiment) == [12]
    assert steps_in(cluster, "experiment", "download", experiment, "--top-n", 2, "-o", "two", *by, "true") == [4, 8]
    assert steps_in(cluster, "experiment", "download", experiment, "-o", "one", *by, "false") == [12]
    assert steps_in(cluster, "trial", "download", trial, "--latest") == [12]
    assert steps_in(cluster, "trial", "download", trial, "--best", "-o", "best", *by, "true") == [4]
    folder = muster(cluster, "experiment", "download-model-def", experiment).out.strip()
    assert (cluster.work / folder / "train.py").read_text() == RATED


def test_what_cannot_be_downloaded_is_named(done):
    cluster, experiment, trial = done

    def refused(text, *words):
        result = muster(cluster, *words, check=False)
        assert result.code != 0 and text in result.err, result

    refused("--best,--latest", "trial", "download", trial)
    refused("not rated by a metric", "trial", "download", trial, "--latest", "--sort-by", "x", "--smaller-is-better", "true")
    refused("--smaller-is-better", "trial", "download", trial, "--best", "--sort-by", "x")
    refused("no checkpoint has a value of none", "experiment", "download", experiment, "--sort-by", "none", "--smaller-is-better", "true")
    refused("there is no trial 999", "trial", "profile", 999)
    refused("labels: one of them is empty", "experiment", "label", "add", experiment, "")
    refused("there is no experiment 999", "experiment", "download", 999)
    refused("there is no trial 999", "trial", "download", 999, "--best")
    (cluster.work / "full").mkdir()
    (cluster.work / "full" / "x").write_text("")
    refused("is not empty", "experiment", "download-model-def", experiment, "-o", "full")
    refused("there is no verb 'lss'; see muster experiment --help", "experiment", "lss")


def test_labels_and_retention(done):
    cluster, experiment, trial = done
    muster(cluster, "experiment", "label", "add", experiment, "first", "second")
    muster(cluster, "experiment", "label", "rm", experiment, "first")
    assert shown(cluster, "experiment", "describe", experiment, "--json")["experiment"]["labels"] == ["second"]
    muster(cluster, "trial", "set", trial, "--log-retention", 7)
    assert shown(cluster, "trial", "describe", trial, "--json")["trial"]["logRetentionDays"] == 7


def test_experiments_of_a_project(done):
    cluster, experiment, _ = done
    muster(cluster, "workspace", "create", "verbs")
    muster(cluster, "project", "create", "verbs", "p")
    assert [line.split()[1:3] for line in muster(cluster, "project", "list", "verbs").out.splitlines()] == [["NAME", "WORKSPACE"], ["p", "verbs"]]
    muster(cluster, "experiment", "move", experiment, "verbs", "p")
    assert re.search(rf"^{experiment} ", muster(cluster, "project", "list-experiments", "verbs", "p").out, re.M)
    result = muster(cluster, "project", "list", "none", check=False)
    assert result.code != 0 and "there is no workspace none" in result.err


# ---- order, number, and who does not read on ----

def table(cluster, *words):
    """Rows of a table, by column."""
    lines = muster(cluster, *words).out.splitlines()
    begins = [(found.group(), found.start()) for found in re.finditer(r"\S+", lines[0])]
    ends = [begin for _, begin in begins[1:]] + [None]
    return [{name: line[begin:end].strip() for (name, begin), end in zip(begins, ends)} for line in lines[1:]]


@pytest.mark.parametrize("smaller_is_better", [True, False])
def test_trials_in_the_order_and_number_asked_for(cluster, smaller_is_better):
    """x is the metric, and how far each comes is in no order of that."""
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "ranked.yaml").write_text(
        "name: ranked\nentrypoint: 'echo step=$((MUSTER_HP_X * 3 % 5 * 10)) loss=$MUSTER_HP_X'\nresources: {slots_per_trial: 0}\n"
        "hyperparameters: {x: {type: categorical, vals: [3, 1, 4, 2]}}\n"
        f"searcher: {{name: grid, metric: loss, smaller_is_better: {json.dumps(smaller_is_better)}, max_concurrent_trials: 4}}\n")
    experiment = int(muster(cluster, "experiment", "create", "ranked.yaml", "code").out.split()[2])
    muster(cluster, "experiment", "wait", experiment)
    rows = lambda *options: table(cluster, "experiment", "list-trials", experiment, *options)
    order = lambda *options: [int(row["METRIC"]) for row in rows(*options)]
    made, best_first, furthest_first = order(), [1, 2, 3, 4] if smaller_is_better else [4, 3, 2, 1], [3, 1, 4, 2]
    assert sorted(made) == [1, 2, 3, 4] and made not in (best_first, furthest_first)
    ids = [int(row["TRIAL"]) for row in rows()]
    assert ids == sorted(ids) and order("--sort", "id") == made
    assert order("--sort", "metric") == order("--top", 9) == best_first
    assert order("--sort", "at") == furthest_first and [row["AT"] for row in rows("--sort", "at")] == ["40", "30", "20", "10"]
    assert order("--top", 2) == best_first[:2] and order("--sort=id", "--top=3") == made[:3]
    assert order("--top=1", "--sort=at") == furthest_first[:1]
    for words, text in ((["--top", 0], "--top"), (["--sort", "name"], "--sort"), (["--top", 2, "--json"], "leave out --json")):
        refused = muster(cluster, "experiment", "list-trials", experiment, *words, check=False)
        assert refused.code != 0 and text in refused.err and refused.out == "", refused


@pytest.mark.parametrize("is_pipe_ignored", [False, True])
def test_who_does_not_read_on_hears_nothing(done, is_pipe_ignored):
    """As `| head -1` when head has gone. What cannot be written for another reason is told of."""
    cluster, experiment, trial = done
    for command in (f"muster experiment describe {experiment}", f"muster experiment describe {experiment} --json",
                    f"muster experiment list-trials {experiment}", f"muster experiment list-checkpoints {experiment}",
                    f"muster experiment logs {experiment}", "muster experiment list",
                    f"muster trial describe {trial} --metrics", f"muster trial logs {trial}",
                    "muster project list", "muster help", "sinfo", "squeue", "sacct --helpformat"):
        words = command.split()
        reads, writes = os.pipe()
        os.close(reads)
        ended = subprocess.run(words, env=cluster.env(), cwd=cluster.work, stdout=writes, stderr=subprocess.PIPE, timeout=60,
                               text=True, restore_signals=not is_pipe_ignored)
        os.close(writes)
        assert ended.stderr == "" and ended.returncode == -signal.SIGPIPE, (words, ended)
        with open("/dev/full", "w", encoding="utf-8") as full:
            told = subprocess.run(words, env=cluster.env(), cwd=cluster.work, stdout=full, stderr=subprocess.PIPE, timeout=60,
                                  text=True)
        assert told.returncode == 1 and "cannot write to standard output" in told.stderr, (words, told)
    lines = muster(cluster, "experiment", "describe", experiment).out.splitlines()
    piped = cluster.run("bash", "-c", f"muster experiment describe {experiment} | head -1")
    assert (piped.out, piped.err) == (f"{lines[0]}\n", "")
