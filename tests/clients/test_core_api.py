"""(a) Training code that uses the Core API of the unmodified package."""
import json
import re

from determined.experimental import client

from conftest import until

SCRIPT = "python3 core_script.py"


def test_a_script_reports_checkpoints_and_completes(experiments, det):
    experiment = experiments.create("core", f"{SCRIPT} 6", hyperparameters={"lr": 0.125, "layers": {"width": 3}})
    found = experiments.wait(experiment)
    assert found["progress"] == 1.0
    (trial,) = experiments.trials(experiment)
    log = experiments.printed(experiment, trial)
    assert re.search(r'began at 0 with \{"layers": \{"width": 3\}, "lr": 0.125\} seed \d+', log)
    assert "best 0.16666" in log
    assert "no alert: 501 alerts (core_context.alert) reach nobody yet" in log
    training = experiments.workloads(trial, "training")
    assert [(each["totalBatches"], each["metrics"]["avgMetrics"]["loss"]) for each in training] == \
        [(step, 1 / step) for step in range(1, 7)]
    validation = experiments.workloads(trial, "validation")
    assert [(each["totalBatches"], each["metrics"]["avgMetrics"]) for each in validation] == \
        [(step, {"validation_loss": 1 / step, "steps": step, "odd": "NaN"}) for step in (4, 6)]
    described = experiments.trial(trial)
    assert (described["state"], described["totalBatchesProcessed"], described["restarts"]) == ("STATE_COMPLETED", 6, 0)
    checkpoints = det("experiment", "list-checkpoints", experiment).rows()
    named = re.findall(r"checkpoint (\S+) at (\d+)", log)
    assert {(row["UUID"], row["# of Batches"]) for row in checkpoints if row["UUID"]} == set(named) and len(named) == 2


def test_a_custom_group_is_kept(experiments, sdk):
    """No command of det shows custom groups, so the SDK is asked."""
    experiment = experiments.create("groups", f"{SCRIPT} 4")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    (row,) = list(sdk.get_trial(trial).iter_metrics("extra"))
    assert (row.steps_completed, row.metrics) == (4, {"count": 4, "least": "-Infinity"})


def test_lists_come_in_the_order_that_is_asked_for(experiments, served, sdk):
    """What no command of det asks for."""
    experiment = experiments.create("ordered", f"{SCRIPT} 12", searcher={"name": "grid", "metric": "validation_loss"},
                                    hyperparameters={"x": {"type": "categorical", "vals": [1, 2, 3]}},
                                    checkpoint_storage={"type": "shared_fs", "host_path": str(served.storage), "save_trial_latest": 3})
    experiments.wait(experiment)
    first, *others = experiments.trials(experiment)

    def steps(sort_by, order_by, **more):
        return [each.metadata["steps_completed"] for each in sdk.get_trial(first).list_checkpoints(sort_by=sort_by, order_by=order_by, **more)]

    up, down = client.OrderBy.ASC, client.OrderBy.DESC
    assert steps(client.CheckpointSortBy.BATCH_NUMBER, down) == [12, 8, 4]
    assert steps(client.CheckpointSortBy.END_TIME, up, max_results=2) == [4, 8]
    assert steps(client.CheckpointSortBy.SEARCHER_METRIC, down) == [4, 8, 12]
    assert steps("validation_loss", up) == [12, 8, 4]
    found = sdk.get_experiment(experiment).list_trials(sort_by=client.TrialSortBy.ID, order_by=down)
    assert [trial.id for trial in found] == sorted([first, *others], reverse=True)
    mine = [each.id for each in sdk.list_experiments(experiment_ids=[experiment], sort_by=client.ExperimentSortBy.NAME)]
    assert mine == [experiment]
    assert [each.id for each in sdk.list_experiments(name="no such name")] == []
    for sort in client.ExperimentSortBy:  # every word that the package has for it
        assert sdk.list_experiments(sort_by=sort, order_by=down, experiment_ids=[experiment])[0].id == experiment, sort
    for sort in client.TrialSortBy:
        assert len(list(sdk.get_experiment(experiment).list_trials(sort_by=sort, order_by=up))) == 3, sort
    for sort in client.CheckpointSortBy:
        assert len(steps(sort, down)) == 3, sort
    for sort in client.ModelSortBy:
        sdk.list_models(sort_by=sort)


def test_labels_of_an_experiment_and_of_models(experiments, sdk):
    experiment = sdk.get_experiment(experiments.create("labelled", "true", "--paused"))
    experiment.add_label("good one")
    experiment.add_label("other")
    experiment.remove_label("other")
    experiment.reload()
    assert experiment.labels == {"good one"}
    experiment.set_labels({"a", "b"})
    experiment.reload()
    assert experiment.labels == {"a", "b"}
    sdk.create_model("labelled", labels=["x", "y"])
    sdk.create_model("labelled too", labels=["y"])
    assert sdk.get_model_labels() == ["y", "x"]


def test_a_paused_trial_goes_on_from_its_checkpoint(experiments, det):
    experiment = experiments.create("pause", f"{SCRIPT} 60 0.7")
    trial = until(lambda: experiments.trials(experiment), "a trial")[0]
    until(lambda: experiments.workloads(trial, "training"), "a report")
    det("experiment", "pause", experiment)
    until(lambda: "asked to stop at" in experiments.printed(experiment, trial), "the stop")
    assert experiments.describe(experiment)["state"] == "STATE_PAUSED"
    det("experiment", "activate", experiment)
    experiments.wait(experiment)
    log = experiments.printed(experiment, trial)
    stopped = int(re.search(r"asked to stop at (\d+)", log).group(1))
    assert re.findall(r"began at (\d+)", log) == ["0", str(stopped)] and 0 < stopped < 60
    training = [each["totalBatches"] for each in experiments.workloads(trial, "training")]
    assert training == list(range(1, 61))
    assert experiments.trial(trial)["restarts"] == 0


def test_trials_at_once_on_one_host_keep_apart(experiments):
    """The package reads who it is from fixed paths: each trial has its own there."""
    rates = [0.25, 0.5, 0.75]
    experiment = experiments.create("together", f"{SCRIPT} 12 0.4", hyperparameters={"lr": {"type": "categorical", "vals": rates}},
                                    searcher={"name": "grid", "metric": "validation_loss", "max_concurrent_trials": 3})
    experiments.wait(experiment)
    found = [experiments.trial(trial) for trial in experiments.trials(experiment)]
    assert sorted(one["hparams"]["lr"] for one in found) == rates
    assert max(one["startTime"] for one in found) < min(one["endTime"] for one in found), "they ran at the same time"
    for one in found:
        log = experiments.printed(experiment, one["id"])
        assert re.findall(r'began at 0 with \{"lr": ([\d.]+)\}', log) == [str(one["hparams"]["lr"])]
        assert [each["totalBatches"] for each in experiments.workloads(one["id"], "training")] == list(range(1, 13))
        (uuid, steps) = re.findall(r"checkpoint (\S+) at (\d+)", log)[-1]
        assert steps == "12" and (experiments.folder(experiment, one["id"]).parents[1] / uuid / "state.json").exists()


def test_a_canceled_trial_checkpoints_and_ends(experiments, det):
    experiment = experiments.create("cancel", f"{SCRIPT} 60 0.5")
    trial = until(lambda: experiments.trials(experiment), "a trial")[0]
    until(lambda: experiments.workloads(trial, "training"), "a report")
    det("experiment", "cancel", experiment)
    experiments.wait(experiment, "CANCELED")
    assert "asked to stop at" in experiments.printed(experiment, trial)
    assert experiments.workloads(trial, "checkpoint")


def test_invalid_hyperparameters_end_their_trial_alone(experiments):
    experiment = experiments.create(
        "invalid", f"{SCRIPT} 4", hyperparameters={"is_bad": {"type": "categorical", "vals": [True, False]}},
        searcher={"name": "grid", "metric": "validation_loss", "smaller_is_better": True, "max_concurrent_trials": 1})
    experiments.wait(experiment)
    trials = [experiments.trial(each) for each in experiments.trials(experiment)]
    assert sorted((each["hparams"]["is_bad"], each["totalBatchesProcessed"]) for each in trials) == [(False, 4), (True, 0)]
    assert {each["state"] for each in trials} == {"STATE_COMPLETED"}


def test_two_ranks_write_one_checkpoint(experiments, det):
    experiment = experiments.create(
        "sharded", "python3 -m determined.launch.torch_distributed --redirects 1 --tee 1 -- python3 sharded.py",
        resources={"slots_per_trial": 2})
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    log = experiments.printed(experiment, trial)
    for rank in (0, 1):
        assert f"rank {rank} of 2 reads ['of rank 0', 'of rank 1']" in log
    (checkpoint,) = experiments.workloads(trial, "checkpoint")
    assert {"part-0": "9", "part-1": "9"}.items() <= checkpoint["resources"].items()
    assert json.dumps(checkpoint["metadata"]["steps_completed"]) == "1"
