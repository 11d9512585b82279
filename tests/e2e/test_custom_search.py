"""Searches that a program decides, with real daemons: the program and the controller die, and nothing is tried twice or lost."""
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from conftest import ROOT, experiment_folder, until

TRAIN = """\
import sys
import time

from muster import core

with core.init() as context:
    rate = context.info.hparams["rate"]
    done = 0
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            done = int((path / "done").read_text())
    print(f"begins at {done}", flush=True)
    while True:
        done += 1
        time.sleep(float(sys.argv[1]))
        context.train.report_validation_metrics(done, {"loss": rate / done})
        if context.preempt.should_preempt():
            with context.checkpoint.store_path({"steps_completed": done}) as (path, _):
                (path / "done").write_text(str(done))
            break
"""

# Three trials validate after 2 batches; the best of them goes on to 6, the others are closed.
METHOD = """\
import json
import pathlib
import sys
import uuid

sys.path.insert(0, {python!r})
from muster import searcher


class BestOfThree(searcher.SearchMethod):
    def __init__(self):
        self.first = {{}}

    def initial_operations(self, state):
        return [operation for rate in (3, 1, 2) for operation in self.one(rate)]

    def one(self, rate):
        trial = uuid.UUID(int=rate)
        return [searcher.Create(trial, {{"rate": rate}}), searcher.ValidateAfter(trial, 2)]

    def on_trial_created(self, state, request_id):
        return []

    def on_validation_completed(self, state, request_id, metric, train_length):
        if train_length == 6:
            return [searcher.Close(request_id)]
        self.first[str(request_id)] = metric
        if len(self.first) < 3:
            return []
        best = min(self.first, key=self.first.get)
        return [searcher.ValidateAfter(uuid.UUID(best), 6)] + [searcher.Close(uuid.UUID(one)) for one in self.first if one != best]

    def on_trial_closed(self, state, request_id):
        return [searcher.Shutdown()] if len(state.trials_closed) == 3 else []

    def on_trial_exited_early(self, state, request_id, exited_reason):
        raise RuntimeError(f"{{request_id}}: {{exited_reason}}")

    def progress(self, state):
        return len(state.trials_closed) / 3

    def save_method_state(self, path):
        path.joinpath("first.json").write_text(json.dumps(self.first))

    def load_method_state(self, path):
        self.first = json.loads(path.joinpath("first.json").read_text())


runner = searcher.LocalSearchRunner(BestOfThree(), pathlib.Path(sys.argv[1]))
print(runner.run("search.yaml", "code"), runner.state.experiment_completed)
"""


# Trains to the target of its run and ends a while later, when its search may have taken it further already.
TO_TARGET = """\
import time

from muster import core

with core.init() as context:
    rate = context.info.hparams["rate"]
    file = context.info.run_dir / "epoch"
    done = int(file.read_text()) if file.exists() else 0
    for operation in context.searcher.operations():
        while done < operation.length:
            done += 1
            file.write_text(str(done))
            with (context.info.run_dir / "trained").open("a") as trained:
                trained.write(f"{done}\\n")
        context.train.report_validation_metrics(done, {"loss": rate})
        operation.report_completed(rate)
        time.sleep(0.3)
"""

# Nine trials of 2, three of 6, one of 18 batches: synchronous halving, decided from outside.
HALVING = """\
import json
import pathlib
import sys
import uuid

sys.path.insert(0, {python!r})
from muster import searcher

RUNGS = (2, 6, 18)


class Halving(searcher.SearchMethod):
    def __init__(self):
        self.reached = {{str(length): {{}} for length in RUNGS}}

    def initial_operations(self, state):
        return [operation for rate in range(1, 10) for operation in
                (searcher.Create(uuid.UUID(int=rate), {{"rate": rate}}), searcher.ValidateAfter(uuid.UUID(int=rate), RUNGS[0]))]

    def on_trial_created(self, state, request_id):
        return []

    def on_validation_completed(self, state, request_id, metric, train_length):
        rung = self.reached[str(train_length)]
        rung[str(request_id)] = metric
        place = RUNGS.index(train_length)
        if len(rung) < (9, 3, 1)[place]:
            return []
        best = sorted(rung, key=rung.get)[:len(rung) // 3]
        closed = [searcher.Close(uuid.UUID(one)) for one in rung if one not in best]
        return [searcher.ValidateAfter(uuid.UUID(one), RUNGS[place + 1]) for one in best] + closed

    def on_trial_closed(self, state, request_id):
        return [searcher.Shutdown()] if len(state.trials_closed) == 9 else []

    def on_trial_exited_early(self, state, request_id, exited_reason):
        raise RuntimeError(f"{{request_id}}: {{exited_reason}}")

    def progress(self, state):
        return len(state.trials_closed) / 9

    def save_method_state(self, path):
        path.joinpath("reached.json").write_text(json.dumps(self.reached))

    def load_method_state(self, path):
        self.reached = json.loads(path.joinpath("reached.json").read_text())


runner = searcher.LocalSearchRunner(Halving(), pathlib.Path(sys.argv[1]))
print(runner.run("search.yaml", "code"), runner.state.experiment_completed)
"""


@pytest.fixture(scope="module")
def lab(cluster):
    return prepared(cluster)


def prepared(cluster, pause_s=0.05, train=TRAIN, method=METHOD):
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "code" / "train.py").write_text(train)
    (cluster.work / "method.py").write_text(method.format(python=str(ROOT / "python")))
    (cluster.work / "search.yaml").write_text(
        f"name: mine\nentrypoint: /usr/bin/python3 train.py {pause_s}\nmax_restarts: 0\n"
        "searcher: {name: custom, metric: loss, unit: batches}\n"
        f"checkpoint_storage: {{type: shared_fs, host_path: {cluster.work / 'storage'}}}\n"
        f"environment: {{environment_variables: [PYTHONPATH={ROOT / 'python'}]}}\n")
    return cluster


def start(cluster, folder):
    shown = cluster.run("muster", "env", "--dir", cluster.dir).out
    variables = dict(line[len("export "):].split("=", 1) for line in shown.splitlines())
    environment = cluster.env(**{name: value.strip("'") for name, value in variables.items() if name.startswith("DET_")})
    return subprocess.Popen([sys.executable, "method.py", folder], cwd=cluster.work, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def described(cluster, experiment):
    return cluster.run("muster", "experiment", "describe", experiment).out


def check_result(cluster, experiment):
    """Three trials, each tried once as far as it was told."""
    text = described(cluster, experiment)
    assert "COMPLETED" in text
    folder = experiment_folder(cluster.work / "storage", experiment)
    trials = sorted(folder.glob("trial-*"))
    assert len(trials) == 3, text
    begun = [re.findall(r"begins at (\d+)", (trial / "output.log").read_text()) for trial in trials]
    *others, best = sorted(begun, key=len)
    assert others == [["0"], ["0"]] and best[0] == "0" and len(best) == 2, begun
    assert 2 <= int(best[1]) < 6, begun  # it went on from where it had stopped
    assert text.count("closed by its search") == 3, text


def test_a_program_decides_which_trial_goes_on(lab):
    runner = start(lab, "searcher")
    out, _ = runner.communicate(timeout=120)
    assert runner.returncode == 0, out
    experiment, is_completed = out.split()[-2:]
    assert is_completed == "True", out
    check_result(lab, experiment)


def test_the_program_and_the_controller_die_and_the_search_goes_on(own_cluster):
    cluster = prepared(own_cluster(nodes=2, gpus=0, cpus=4, conf={"KillWait": "2"}), 0.2)
    folder = cluster.work / "searcher"
    for kill in range(6):
        runner = start(cluster, folder)
        time.sleep(0.6 + 0.35 * kill)
        if runner.poll() is not None:
            break
        if kill % 2:
            os.kill(cluster.pid("controller"), signal.SIGKILL)
            cluster.up()
        runner.kill()
        runner.communicate()
    runner = start(cluster, folder)
    out, _ = runner.communicate(timeout=120)
    assert runner.returncode == 0, out
    experiment = (folder / "experiment_id.txt").read_text()
    check_result(cluster, experiment)


@pytest.mark.parametrize("is_killed", [False, True], ids=["undisturbed", "controller killed"])
def test_each_trial_is_trained_exactly_as_far_as_the_program_says(own_cluster, is_killed):
    cluster = prepared(own_cluster(nodes=2, gpus=0, cpus=4, conf={"KillWait": "2"}), train=TO_TARGET, method=HALVING)
    runner = start(cluster, "searcher")
    storage = cluster.work / "storage"
    if is_killed:
        until(lambda: len(list(storage.glob("experiment-*/trial-*/trained"))) >= 5, "some trials have trained")
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        cluster.up()
    out, _ = runner.communicate(timeout=240)
    assert runner.returncode == 0, out
    experiment, is_completed = out.split()[-2:]
    text = described(cluster, experiment)
    assert is_completed == "True" and text.count("closed by its search") == 9, text
    trained = [[int(line) for line in file.read_text().split()] for file in experiment_folder(storage, experiment).glob("trial-*/trained")]
    assert all(batches == list(range(1, len(batches) + 1)) for batches in trained), trained
    assert Counter(map(len, trained)) == {2: 6, 6: 2, 18: 1}, text
    assert "found:" not in cluster.run("muster", "check", "--dir", cluster.dir).out


def test_what_a_client_asks_for_wrongly_is_refused_by_name(lab):
    (lab.work / "waits.yaml").write_text((lab.work / "search.yaml").read_text())
    experiment = int(re.search(r"Created experiment (\d+)", lab.run("muster", "experiment", "create", "waits.yaml", "code").out).group(1))
    sys.path.insert(0, str(ROOT / "python"))
    from muster.core.errors import ControllerError
    from muster.core.session import Session
    shown = lab.run("muster", "env", "--dir", lab.dir).out
    values = dict(line[len("export "):].split("=", 1) for line in shown.splitlines())
    session = Session(values["DET_MASTER"].strip("'"), values["DET_USER_TOKEN"].strip("'"), 10, is_user=True)
    (event,) = session.call("GET", f"/experiments/{experiment}/searcher_events")["searcherEvents"]
    assert event == {"id": 1, "initialOperations": {"placeholder": 0}}
    path = f"/experiments/{experiment}/searcher_operations"

    def refused(body, words):
        with pytest.raises(ControllerError, match=words):
            session.call("POST", path, body)

    create = {"createTrial": {"requestId": "a", "hyperparams": "{}"}}
    refused({"searcherOperations": [create]}, "triggeredByEvent.id is missing")
    refused({"triggeredByEvent": {"id": 9}, "searcherOperations": [create]}, "there is no event 9 yet")
    refused({"triggeredByEvent": {"id": 1}, "searcherOperations": [create, create]}, "trial a was created before")
    refused({"triggeredByEvent": {"id": 1}, "searcherOperations": [{"closeTrial": {"requestId": "b"}}]}, "no trial with request id b")
    refused({"triggeredByEvent": {"id": 1}, "searcherOperations": [{"createTrial": {"requestId": "a", "hyperparams": "[1]"}}]}, "a JSON object is expected")
    refused({"triggeredByEvent": {"id": 1}, "searcherOperations": [{"juggle": {}}]}, "an operation is one of")
    assert session.call("POST", path, {"triggeredByEvent": {"id": 1}, "searcherOperations": [create]}) == {}
    (event,) = session.call("GET", f"/experiments/{experiment}/searcher_events")["searcherEvents"]
    assert event == {"id": 2, "trialCreated": {"requestId": "a"}}
    assert session.call("POST", path, {"triggeredByEvent": {"id": 2}, "searcherOperations": [{"shutDown": {"cancel": True}}]}) == {}
    lab.run("muster", "experiment", "wait", experiment, "-q", check=False)
    assert "CANCELED" in described(lab, experiment)
    (event,) = session.call("GET", f"/experiments/{experiment}/searcher_events")["searcherEvents"]
    assert event["experimentInactive"] == {"experimentState": "STATE_CANCELED"}
