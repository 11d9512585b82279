"""The package of this repository beside Determined's: muster.core in a trial, seen through det."""
import json
import re

from conftest import ROOT, until

ENTRY = f"env PYTHONPATH={ROOT / 'python'} /usr/bin/python3 native_script.py"


def test_a_script_of_muster_core_reports_to_the_controller(experiments):
    experiment = experiments.create("native", f"{ENTRY} 5", hyperparameters={"lr": 0.5})
    assert experiments.wait(experiment)["progress"] == 1.0
    (trial,) = experiments.trials(experiment)
    printed = experiments.printed(experiment, trial)
    assert "run 1 began at 0 with {'lr': 0.5}" in printed and "metadata {'data': {'rows': 3}}" in printed
    training = experiments.workloads(trial, "training")
    assert [(each["totalBatches"], each["metrics"]["avgMetrics"]) for each in training] == \
        [(step, {"loss": 1 / step, "odd": "NaN"}) for step in range(1, 6)]
    (checkpoint,) = experiments.workloads(trial, "checkpoint")
    uuid = re.search(r"checkpoint (\S+) at 5", printed).group(1)
    assert (checkpoint["uuid"], checkpoint["state"], checkpoint["resources"]) == (uuid, "STATE_COMPLETED", {"model": "7"})
    folder = experiments.folder(experiment, trial)
    assert json.loads((folder / "status.json").read_text())["progress"] == 1.0 and not (folder / "metrics.jsonl").exists()
    assert len(list((folder / "tensorboard" / "metrics").iterdir())) == 1


def test_it_stops_when_paused_and_goes_on(experiments, det):
    experiment = experiments.create("native-pause", f"{ENTRY} 60 0.7")
    (trial,) = until(lambda: experiments.trials(experiment), "a trial")
    until(lambda: experiments.workloads(trial, "training"), "a report")
    det("experiment", "pause", experiment)
    until(lambda: "asked to stop" in experiments.printed(experiment, trial), "the stop")
    det("experiment", "activate", experiment)
    experiments.wait(experiment)
    printed = experiments.printed(experiment, trial)
    stopped = int(re.search(r"asked to stop at (\d+)", printed).group(1))
    assert re.findall(r"run (\d+) began at (\d+)", printed) == [("1", "0"), ("2", str(stopped))]
    assert [each["totalBatches"] for each in experiments.workloads(trial, "training")] == list(range(1, 61))
    assert experiments.trial(trial)["restarts"] == 0
