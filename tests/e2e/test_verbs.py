"""Muster's own verbs for looking at experiments and getting what they made, as Determined's users know them."""
import json
import re

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
