"""(b) A PyTorchTrial of the unmodified package, on two slots through its own launcher."""
import re

import torch

LAUNCH = "python3 -m determined.launch.torch_distributed --redirects 1 --tee 1 -- python3 digits_trial.py"


def test_two_slots_learn_digits(experiments, det, tmp_path):
    experiment = experiments.create("digits", LAUNCH, resources={"slots_per_trial": 2},
                                    hyperparameters={"learning_rate": 0.1, "epochs": 3, "global_batch_size": 32},
                                    reproducibility={"experiment_seed": 7})  # three epochs from chance weights may reach 0.87 only
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    validation = [each["metrics"]["avgMetrics"] for each in experiments.workloads(trial, "validation")]
    assert [each["epochs"] for each in validation] == [1, 2, 3] and validation[-1]["accuracy"] > 0.9
    losses = [each["metrics"]["avgMetrics"]["loss"] for each in experiments.workloads(trial, "training")]
    assert len(losses) >= 6 and losses[-1] < 0.5 < losses[0]
    log = experiments.printed(experiment, trial)
    assert "[rank=0]" in log and "[rank=1]" in log
    kept = [each for each in experiments.workloads(trial, "checkpoint") if each["state"] == "STATE_COMPLETED"]
    det("checkpoint", "download", kept[-1]["uuid"], "-o", tmp_path / "checkpoint")
    state = torch.load(tmp_path / "checkpoint" / "state_dict.pth", map_location="cpu")
    weights = {name.removeprefix("module."): tensor for name, tensor in state["models_state_dict"][0].items()}
    assert weights["0.weight"].shape == (32, 64)
    assert re.search(r"class DigitsTrial", (tmp_path / "checkpoint" / "code" / "digits_trial.py").read_text())
