"""(e) Predictions made with a checkpoint or a registered version are found again from there."""
from pathlib import Path

import pytest
from determined.common.api.errors import NotFoundException

SUMS = [(1, 36.0), (2, 132.0), (3, 228.0)]  # of four numbers each from 0 to 11, times the checkpoint's 6


@pytest.fixture(scope="module")
def trained(experiments):
    """A trial's checkpoint of six steps."""
    experiment = experiments.create("trained", "python3 core_script.py 6")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    saved = experiments.workloads(trial, "checkpoint")
    return max(saved, key=lambda each: each["totalBatches"])["uuid"]


def predicted(experiments, name, **hparams):
    experiment = experiments.create(name, "python3 predict.py", code=Path(__file__).parent / "inference", hyperparameters=hparams)
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    return experiment, trial


def test_metrics_are_found_by_the_checkpoint_that_they_were_measured_with(experiments, trained, sdk, det):
    checkpoint = sdk.get_checkpoint(trained)
    assert list(checkpoint.get_metrics()) == []
    experiment, trial = predicted(experiments, "predict", checkpoint=trained)
    found = list(checkpoint.get_metrics("inference"))
    assert [(each.trial_id, each.group, each.steps_completed, each.metrics) for each in found] == \
        [(trial, "inference", step, {"sum": total}) for step, total in SUMS]
    losses = [(step, {"validation_loss": -total}) for step, total in SUMS]
    assert [(each.steps_completed, each.metrics) for each in checkpoint.get_metrics("validation")] == losses
    every = list(checkpoint.get_metrics())
    assert sorted({each.group for each in every}) == ["inference", "validation"] and len(every) == 6
    _, again = predicted(experiments, "predict again", checkpoint=trained)
    assert {each.trial_id for each in checkpoint.get_metrics("inference")} == {trial, again}
    det("experiment", "delete", experiment, "--yes")
    assert {each.trial_id for each in checkpoint.get_metrics("inference")} == {again}


def test_metrics_are_found_by_the_version_that_they_were_measured_with(experiments, trained, sdk):
    model = sdk.create_model("counter")
    first, second = model.register_version(trained), model.register_version(trained)
    _, trial = predicted(experiments, "predict version", model="counter", version=second.model_version)
    assert [(each.trial_id, each.steps_completed, each.metrics) for each in second.iter_metrics("inference")] == \
        [(trial, step, {"sum": total}) for step, total in SUMS]
    assert list(first.iter_metrics("inference")) == [], "the same checkpoint under another number"
    assert trial in {each.trial_id for each in sdk.get_checkpoint(trained).get_metrics("inference")}
    other = sdk.create_model("other").register_version(trained)
    for version in (None, other):  # told again, otherwise: nothing of what was told is lost
        info = {"checkpointUuid": trained, "trialId": trial, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
        info.update({} if version is None else {"modelId": version.model_id, "modelVersion": version.model_version})
        sdk._session.post("/api/v1/trial-source-info", json={"trialSourceInfo": info})
    assert len(list(second.iter_metrics("inference"))) == len(list(other.iter_metrics("inference"))) == 3
    assert len([each for each in sdk.get_checkpoint(trained).get_metrics("inference") if each.trial_id == trial]) == 3


def test_what_is_not_there_is_named(sdk, trained):
    checkpoint = sdk.get_checkpoint(trained)
    checkpoint.uuid = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(NotFoundException, match="there is no checkpoint 00000000"):
        list(checkpoint.get_metrics())
