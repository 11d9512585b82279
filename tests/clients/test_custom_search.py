"""(d) A custom search, run by the runner of the last determined package that had them."""
import os
import subprocess
import sys
from pathlib import Path

OLD = Path(sys.executable).parents[1] / "determined-0.37"

SEARCH = """\
import logging
import pathlib
import sys
import uuid

from determined import searcher
from determined.experimental import client

logging.basicConfig(level=logging.INFO)


class Halves(searcher.SearchMethod):
    '''Two trials validate after four batches; the better goes on to eight. One whose hyperparameters are bad is replaced.'''

    def __init__(self):
        super().__init__()
        self.first = {}

    def initial_operations(self, state):
        return [each for hparams in ({"is_bad": True}, {"is_bad": False}) for each in self.one(hparams)]

    def one(self, hparams):
        trial = uuid.uuid4()
        return [searcher.Create(trial, hparams, None), searcher.ValidateAfter(trial, 4)]

    def on_trial_created(self, state, request_id):
        return []

    def on_validation_completed(self, state, request_id, metric, train_length):
        if train_length == 8:
            return [searcher.Close(request_id)]
        self.first[request_id] = metric
        if len(self.first) < 2:
            return []
        best, other = sorted(self.first, key=lambda one: (self.first[one], str(one)))
        return [searcher.ValidateAfter(best, 8), searcher.Close(other)]

    def on_trial_closed(self, state, request_id):
        return [searcher.Shutdown()] if len(state.trials_closed) == 3 else []

    def on_trial_exited_early(self, state, request_id, exited_reason):
        assert exited_reason == searcher.ExitedReason.INVALID_HP, exited_reason
        return self.one({"is_bad": False})

    def progress(self, state):
        return len(state.trials_closed) / 3


client.login(master=sys.argv[1])
runner = searcher.LocalSearchRunner(Halves(), pathlib.Path(sys.argv[2]))
experiment = runner.run(sys.argv[3], model_dir=sys.argv[4])
print(experiment, runner.state.experiment_completed)
"""


def test_its_own_runner_searches_unchanged(experiments, served, tmp_path):
    (tmp_path / "search.py").write_text(SEARCH)
    config = experiments.configuration("custom", "python3 core_script.py 8 0.1", searcher={
        "name": "custom", "metric": "validation_loss", "smaller_is_better": True, "unit": "batches"})
    variables = {**os.environ, "PYTHONPATH": str(OLD), "HOME": str(tmp_path), "DET_USER": served.user, "DET_USER_TOKEN": served.token}
    ran = subprocess.run([sys.executable, "search.py", served.url, "state", str(config), str(Path(__file__).parent / "model")], cwd=tmp_path,
                         env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    assert ran.returncode == 0, ran.stdout
    experiment, is_completed = ran.stdout.split()[-2:]
    assert is_completed == "True", ran.stdout
    assert experiments.describe(int(experiment))["state"] == "STATE_COMPLETED"
    trials = [experiments.trial(trial) for trial in experiments.trials(int(experiment))]
    bad, closed, best = sorted(trial["totalBatchesProcessed"] for trial in trials)
    assert bad == 0 and 4 <= closed < 8 and best == 8, trials  # one that is closed stops when it next asks
