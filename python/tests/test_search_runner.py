"""Searches that a program decides: what the runner asks of its method, and what it remembers when it is killed."""
import json
import math
import uuid

import pytest

from muster import searcher
from muster.core.errors import ControllerError
from muster.searcher.submission import create_experiment

TRIAL = uuid.UUID(int=7)


class Recorder(searcher.SearchMethod):
    """Answers each event with what `answers` has for it, and writes down what it was told."""

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.told = []

    def _say(self, *what):
        self.told.append(what)
        return self.answers.get(what[0], [])

    def initial_operations(self, state):
        return self._say("initial")

    def on_trial_created(self, state, request_id):
        return self._say("created", request_id)

    def on_validation_completed(self, state, request_id, metric, train_length):
        return self._say("validated", request_id, metric, train_length)

    def on_trial_closed(self, state, request_id):
        return self._say("closed", request_id)

    def on_trial_exited_early(self, state, request_id, exited_reason):
        return self._say("exited", request_id, exited_reason)

    def progress(self, state):
        return len(state.trials_closed) / 2

    def save_method_state(self, path):
        (path / "told").write_text(str(len(self.told)))

    def load_method_state(self, path):
        self.told = [None] * int((path / "told").read_text())


class FakeSession:
    """Hands out `answers` of searcher_events, one per question; `broken` posts fail."""

    def __init__(self, answers, broken=0):
        self.answers = list(answers)
        self.broken = broken
        self.posted = []
        self.created = []

    def call(self, method, path, body=None, timeout_s=60):
        if path == "/experiments":
            self.created.append(body)
            return {"experiment": {"id": 12}}
        if method == "GET":
            return {"searcherEvents": self.answers.pop(0)}
        if self.broken:
            self.broken -= 1
            raise ControllerError("gone")
        self.posted.append((body["triggeredByEvent"]["id"], body["searcherOperations"]))
        return {}


END = {"id": 99, "experimentInactive": {"experimentState": "STATE_COMPLETED"}}
INITIAL = {"id": 1, "initialOperations": {"placeholder": 0}}


def event(number, name, **more):
    return {"id": number, name: {"requestId": str(TRIAL), **more}}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "code").mkdir()

    def start(method, session):
        runner = searcher.LocalSearchRunner(method, tmp_path / "state", session)
        assert runner.run({"name": "e"}, str(tmp_path / "code")) == 12
        return runner
    return start


def test_each_event_is_told_and_its_operations_are_posted(run):
    method = Recorder({"initial": [searcher.Create(TRIAL, {"lr": 1}), searcher.ValidateAfter(TRIAL, 4)], "validated": [searcher.Close(TRIAL)],
                       "closed": [searcher.Shutdown(failure=True)]})
    session = FakeSession([[INITIAL], [event(2, "trialCreated"), event(3, "validationCompleted", metric="NaN", validateAfterLength="4")],
                           [event(4, "trialExitedEarly", exitedReason="EXITED_REASON_INVALID_HP"), event(5, "trialClosed")], [END]])
    runner = run(method, session)
    assert [what[0] for what in method.told] == ["initial", "created", "validated", "exited", "closed"]
    assert math.isnan(method.told[2][2]) and method.told[2][3] == 4
    assert method.told[3][2] == searcher.ExitedReason.INVALID_HP
    assert runner.state.experiment_completed and runner.state.trials_closed == {TRIAL}
    name = str(TRIAL)
    assert session.posted == [
        (1, [{"createTrial": {"requestId": name, "hyperparams": json.dumps({"lr": 1})}},
             {"trialOperation": {"validateAfter": {"requestId": name, "length": "4"}}}]),
        (2, []),
        (3, [{"closeTrial": {"requestId": name}}, {"setSearcherProgress": {"progress": 0.0}}]),
        (4, [{"setSearcherProgress": {"progress": 0.0}}]),
        (5, [{"shutDown": {"cancel": False, "failure": True}}, {"setSearcherProgress": {"progress": 0.5}}])]


def test_what_was_decided_before_a_crash_is_posted_and_not_decided_again(run):
    answers = {"initial": [searcher.Create(TRIAL, {})]}
    with pytest.raises(ControllerError):
        run(Recorder(answers), FakeSession([[INITIAL]], broken=1))
    again = Recorder()
    session = FakeSession([[INITIAL, event(2, "trialCreated")], [END]])
    run(again, session)
    assert session.created == [], "the experiment is the one that was there"
    assert again.told == [None, ("created", TRIAL)], "the first event was told before"
    assert [(number, len(operations)) for number, operations in session.posted] == [(1, 1), (2, 0)]


def test_an_event_that_comes_again_is_not_told_again(run):
    method = Recorder()
    session = FakeSession([[INITIAL], [INITIAL], [event(2, "trialCreated")], [END]])
    run(method, session)
    assert len(method.told) == 2 and [number for number, _ in session.posted] == [1, 2]


def test_a_folder_of_another_search_is_refused(run, tmp_path):
    run(Recorder(), FakeSession([[INITIAL], [END]]))
    (tmp_path / "state" / "experiment_id.txt").write_text("13")
    (tmp_path / "state" / "exp_12").rename(tmp_path / "state" / "exp_13")
    with pytest.raises(ValueError, match="is about experiment 12"):
        searcher.LocalSearchRunner(Recorder(), tmp_path / "state", FakeSession([])).run({})


def test_which_controller_must_be_said(tmp_path, monkeypatch):
    monkeypatch.delenv("DET_MASTER", raising=False)
    monkeypatch.delenv("DET_USER_TOKEN", raising=False)
    with pytest.raises(ValueError, match="DET_MASTER and DET_USER_TOKEN not set"):
        searcher.LocalSearchRunner(Recorder(), tmp_path)


def test_code_goes_without_what_is_no_code(tmp_path):
    for name in ("train.py", "sub/model.py", "__pycache__/x.pyc", "muster-runs/1/log", "data/big.bin", "notes.tmp", "state/experiment_id.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".detignore").write_text("# results\n/data/\n*.tmp\n")
    session = FakeSession([])
    assert create_experiment(session, {"name": "e"}, str(tmp_path), [tmp_path / "state"]) == 12
    (body,) = session.created
    assert [item["path"] for item in body["modelDefinition"]] == ["sub", ".detignore", "train.py", "sub/model.py"]
    assert json.loads(body["config"]) == {"name": "e"} and body["activate"] is True
