"""A trial that reports to a controller: what goes over the wire, and what outages, repeats and crashes leave."""
import json
import logging
import math
import os
import signal
import threading
import time

import pytest

from conftest import PACKAGE, wait_until
from fake_controller import FakeController
from muster import core
from muster.core import remote


@pytest.fixture
def controller():
    made = FakeController()
    yield made
    made.stop()
    assert made.wrong == []


@pytest.fixture
def begin(controller, monkeypatch, memory_path):
    """begin(NAME=value, ...) is a context of the trial, always in the same run folder."""
    def start(**more):
        for name, value in controller.variables(MUSTER_RUN_DIR=str(memory_path), **more).items():
            monkeypatch.setenv(name, value)
        return core.init()
    return start


def steps(controller, group="training"):
    return [row["metrics"]["stepsCompleted"] for row in controller.rows if row["group"] == group]


def states(controller):
    return [each["state"] for each in controller.checkpoints.values()]


def write(context, done):
    with context.checkpoint.store_path({"steps_completed": done}) as (path, uuid):
        (path / "model").write_text(f"after {done}")
    return uuid


# ---- what is said ----

def test_reports_arrive_as_agreed(controller, begin):
    with begin() as context:
        context.train.report_training_metrics(1, {"loss": 0.5, "odd": math.nan}, [{"loss": 0.75}, {"loss": 0.25}])
        context.train.report_validation_metrics(1, {"accuracy": math.inf, "least": -math.inf, "name": "a", "good": True})
        context.train.report_metrics("mine", 2, {"count": 3})
        context.train.report_system_metrics("cpu", {"load": 0.125})
        context.train.flush()
        assert len(controller.rows) == 4
    seen = [(row["group"], row["metrics"]["stepsCompleted"], row["metrics"]["metrics"]) for row in controller.rows]
    assert seen == [("training", 1, {"avgMetrics": {"loss": 0.5, "odd": "NaN"}, "batchMetrics": [{"loss": 0.75}, {"loss": 0.25}]}),
                    ("validation", 1, {"avgMetrics": {"accuracy": "Infinity", "least": "-Infinity", "name": "a", "good": True}}),
                    ("mine", 2, {"avgMetrics": {"count": 3}}), ("cpu", None, {"avgMetrics": {"load": 0.125}})]
    assert controller.requests[0] == ("POST", "/runs/start", {"runId": 7, "checkpointStorage": None})


def test_what_else_a_run_says(controller, begin, memory_path):
    with begin() as context:
        assert context.train.get_metadata() == {}
        context.train.set_metadata({"data": {"rows": 3, "scale": math.nan}})
        assert context.train.get_metadata()["data"]["rows"] == 3 and math.isnan(context.train.get_metadata()["data"]["scale"])
        context.train.set_status("loading data")
        context.train.report_progress(0.25)
        context.train.report_early_exit("invalid_hp")
        assert controller.calls["early_exit"] == "EXITED_REASON_INVALID_HP"  # at once
    assert controller.calls["runner/metadata"] == "loading data" and controller.calls["progress"] == 0.25
    assert controller.run_metadata == {"data": {"rows": 3, "scale": "NaN"}}
    status = json.loads((memory_path / "status.json").read_text())
    assert (status["status"], status["progress"], status["early_exit"]) == ("loading data", 0.25, "invalid_hp")
    assert not (memory_path / "metadata.json").exists() and not (memory_path / "metrics.jsonl").exists()


def test_progress_is_told_once_a_second_and_at_the_end(controller, begin):
    with begin() as context:
        for part in range(100):
            context.train.report_progress(part / 100)
        wait_until(lambda: controller.said("POST", "/trials/7/progress"), "the first")
        context.train.report_progress(1.0)
    told = [body["progress"] for body in controller.said("POST", "/trials/7/progress")]
    assert len(told) <= 3 and told == sorted(told) and told[-1] == 1.0


def test_checkpoints_are_announced_completed_and_deleted(controller, begin, memory_path):
    with begin() as context:
        with context.checkpoint.store_path({"steps_completed": 4, "note": "x"}) as (path, uuid):
            assert controller.checkpoints == {uuid: {"state": "STATE_ACTIVE"}}
            (path / "part").mkdir()
            (path / "part" / "a").write_text("12345")
            (path / "b").write_text("1")
        assert controller.checkpoints[uuid] == {"state": "STATE_COMPLETED", "metadata": {"steps_completed": 4, "note": "x"},
                                                "resources": {"b": "1", "part/": "0", "part/a": "5"}}
        context.checkpoint.delete(uuid, ["part"])
        assert controller.checkpoints[uuid]["resources"] == {"b": "1"}
        context.checkpoint.delete(uuid)
        assert controller.checkpoints[uuid]["state"] == "STATE_DELETED"
        with pytest.raises(ZeroDivisionError):
            with context.checkpoint.store_path({"steps_completed": 5}):
                raise ZeroDivisionError
        assert states(controller) == ["STATE_DELETED", "STATE_DELETED"]
    assert [line for line in os.listdir(memory_path / "checkpoints")] == []


def test_metrics_that_led_to_a_checkpoint_are_there_before_it(controller, begin):
    with begin() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        write(context, 1)
    said = [(path, (body or {}).get("state")) for _, path, body in controller.requests]
    assert said.index(("/trials/7/metrics", None)) < said.index(("/checkpoints", "STATE_COMPLETED"))


def test_each_thread_keeps_one_connection(controller, begin):
    with begin() as context:
        context.preempt.should_preempt()
        for step in range(50):
            context.train.report_training_metrics(step, {"loss": 1.0})
            context.train.flush()
        context.train.set_metadata({"a": 1})
        context.train.report_progress(0.5)
    assert controller.connections <= 4  # the caller, the reports, the record, the stop requests
    assert len(controller.requests) > 50


# ---- outages ----

@pytest.mark.parametrize("fault", ["drop before", "drop after", 502, 503, 504])
def test_a_report_is_sent_until_it_is_answered(controller, begin, fault):
    with begin() as context:
        controller.is_hit = lambda method, path: path.endswith("/metrics")
        controller.faults.extend([fault] * 3)
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_training_metrics(2, {"loss": 0.25})
        context.train.flush()
        assert not controller.faults
        assert steps(controller) == [1, 2]  # once each, in order


@pytest.mark.parametrize("fault", ["drop before", "drop after", 503])
def test_every_other_request_is_repeated_too(controller, begin, fault):
    controller.is_hit = lambda method, path: "preemption?" not in path
    controller.faults.append(fault)  # the start of the run
    with begin() as context:
        assert not controller.faults
        controller.faults.append(fault)
        context.train.set_metadata({"a": 1})
        for step in (1, 2):  # announced, and completed
            controller.faults.append(fault)
            write(context, step)
            assert not controller.faults
        controller.faults.append(fault)
        context.train.report_early_exit("invalid_hp")
        controller.faults.append(fault)
        context.train.set_status("ending")
    assert controller.run_metadata == {"a": 1} and states(controller) == ["STATE_COMPLETED"] * 2
    assert controller.calls == {"early_exit": "EXITED_REASON_INVALID_HP", "runner/metadata": "ending"}


def test_training_goes_on_while_the_controller_restarts(controller, begin):
    with begin() as context:
        context.train.report_training_metrics(0, {"loss": 0.0})
        context.train.flush()
        controller.stop()
        began = time.monotonic()
        for step in range(1, 3000):  # more than wait for a disk
            context.train.report_training_metrics(step, {"loss": float(step)})
            context.train.report_progress(step / 3000)
            context.preempt.should_preempt()
        assert time.monotonic() - began < 3
        controller.start()
        context.train.flush()
        assert steps(controller) == list(range(3000))


def test_an_outage_that_is_too_long_is_an_error_that_says_so(controller, begin, monkeypatch):
    context = begin(MUSTER_CONTROLLER_RETRY_TIMEOUT="0.3")
    controller.stop()
    context.train.report_training_metrics(1, {"loss": 0.5})
    with pytest.raises(core.ControllerError, match=r"POST /trials/7/metrics: the controller at http://127.* did not answer "
                                                   "within 0.3 s") as caught:
        context.train.flush()
    assert caught.value.status is None
    with pytest.raises(core.ControllerError, match="GET /runs/7/metadata"):
        context.train.get_metadata()
    with pytest.raises(core.ControllerError):  # what was not reported is not forgotten
        context.close()
    controller.start()


def test_a_refusal_is_final_and_said_in_its_words(controller, begin):
    with begin() as context:
        controller.is_hit = lambda method, path: path.endswith("/metadata")
        controller.faults.append(403)
        with pytest.raises(core.ControllerError, match="POST /runs/7/metadata: the controller refused with 403: told to say 403") as caught:
            context.train.set_metadata({"a": 1})
        assert caught.value.status == 403 and not controller.faults and controller.run_metadata is None
        context.train.set_metadata({"a": 2})
    assert controller.run_metadata == {"a": 2}


def test_a_conflict_is_raised_by_a_later_report_and_costs_only_its_row(controller, begin):
    with begin() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_training_metrics(1, {"loss": 0.5, "lr": 0.1})  # adds, repeats equally
        context.train.report_training_metrics(1, {"loss": 0.75})
        context.train.report_training_metrics(2, {"loss": 0.25})
        with pytest.raises(core.MetricConflictError, match="group .training. at step 1: .*was reported as 0.5"):
            context.train.flush()
            context.train.flush()
        context.train.flush()
    assert controller.metrics == {("training", 1, "loss"): 0.5, ("training", 1, "lr"): 0.1, ("training", 2, "loss"): 0.25}


def test_a_leftover_of_an_older_run_is_refused(controller, begin):
    context = begin()
    controller.run = 3
    context.train.report_training_metrics(1, {"loss": 0.5})
    with pytest.raises(core.StaleRunError, match=r"invalid run id, 2 \(reported\) != 3 \(expected\)"):
        context.train.flush()
    with pytest.raises(core.StaleRunError):
        context.train.report_training_metrics(2, {"loss": 0.5})
    with pytest.raises(core.StaleRunError):
        context.close()
    assert controller.rows == []


def test_a_leftover_writes_no_checkpoint(controller, begin):
    with begin() as context:
        controller.run = 3
        with pytest.raises(core.StaleRunError, match="newer run"):
            write(context, 1)
    assert controller.checkpoints == {}


def test_a_stop_that_the_user_wished_is_no_failure_to_the_controller(controller, begin, memory_path):
    with begin() as context:
        context.train.report_early_exit("user_requested_stop")
    assert "early_exit" not in controller.calls
    assert json.loads((memory_path / "status.json").read_text())["early_exit"] == "user_requested_stop"


# ---- stops ----

def test_the_controller_asks_for_a_stop_and_hears_that_it_was_heard(controller, begin, memory_path):
    with begin() as context:
        assert not context.preempt.should_preempt() and context.preempt.reason is None
        controller.preempt.set()
        wait_until(lambda: context.preempt.should_preempt(), "the stop", 3)
        assert context.preempt.reason == "the controller"
        wait_until(lambda: controller.acknowledged, "the acknowledgement", 3)
    assert controller.acknowledged == 1
    assert json.loads((memory_path / "status.json").read_text())["stop_acknowledged"] == "the controller"


def test_a_stop_asked_before_the_start_is_known_to_the_first_question(controller, begin):
    controller.preempt.set()
    with begin() as context:
        assert context.preempt.should_preempt(auto_ack=False)
        assert controller.acknowledged == 0


def test_a_stop_is_heard_after_a_restart(controller, begin):
    with begin() as context:
        assert not context.preempt.should_preempt()
        controller.stop()
        time.sleep(0.2)
        controller.start()
        controller.preempt.set()
        wait_until(lambda: context.preempt.should_preempt(), "the stop", 10)


def test_no_acknowledgement_is_no_good_end(controller, begin):
    context = begin()
    controller.preempt.set()
    controller.is_hit = lambda method, path: path.endswith("ack_preemption")
    controller.faults.append(403)
    wait_until(lambda: context.preempt.should_preempt(), "the stop", 3)
    with pytest.raises(core.ControllerError, match="ack_preemption: the controller refused with 403"):
        context.close()
    assert controller.acknowledged == 0


def test_a_poll_that_is_answered_at_once_is_not_asked_at_once_again(controller, begin, monkeypatch):
    polls = []
    controller._poll = lambda _body, seconds: polls.append(seconds) or {"preempt": False}
    with begin() as context:
        context.preempt.should_preempt()
        time.sleep(1.3)
    assert polls[:2] == ["0", "60"] and len(polls) <= 4


def test_only_rank_0_speaks(controller, ranks, memory_path):
    code = """
        from muster import core
        with core.init(distributed=core.DistributedContext.from_environment()) as context:
            rank = context.distributed.rank
            if rank == 0:
                context.train.report_training_metrics(1, {"loss": 0.5})
            print("ready", flush=True)
            while not context.preempt.should_preempt():
                pass
            with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
                (path / f"part-{rank}").write_text("x")
            print(context.preempt.reason, flush=True)
        """
    both = ranks(code, 2, **controller.variables(MUSTER_RUN_DIR=str(memory_path)))
    for rank in both:
        rank.wait_for("ready")
    controller.preempt.set()
    assert [rank.end()[0].strip() for rank in both] == ["the controller on rank 0"] * 2
    assert len(controller.said("POST", "/runs/start")) == 1 and controller.acknowledged == 1
    (checkpoint,) = controller.checkpoints.values()
    assert checkpoint["resources"] == {"part-0": "1", "part-1": "1"} and checkpoint["state"] == "STATE_COMPLETED"


# ---- crashes and resumption ----

DYING = """
    import os, signal, sys
    from muster import core
    from muster.core import remote, storage
    def dying(owner, name, after):
        original = getattr(owner, name)
        def call(*words, **more):
            if not after:
                os.kill(os.getpid(), signal.SIGKILL)
            original(*words, **more)
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(owner, name, call)
    where = sys.argv[1] if len(sys.argv) > 1 else WHERE
    with core.init() as context:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, first):
            (path / "model").write_text("1")
        if where == "writing":
            dying(storage.FolderStorage, "finish", after=False)
        elif where == "renamed":
            dying(storage.FolderStorage, "finish", after=True)
        elif where == "deleting":
            dying(storage.FolderStorage, "unmake", after=True)
            context.checkpoint.delete(first)
        with context.checkpoint.store_path({"steps_completed": 2}) as (path, uuid):
            (path / "model").write_text("2")
    """


@pytest.mark.parametrize("where, after_crash, after_start, latest", [
    ("writing", ["STATE_COMPLETED", "STATE_ACTIVE"], ["STATE_COMPLETED", "STATE_DELETED"], 1),
    ("renamed", ["STATE_COMPLETED", "STATE_ACTIVE"], ["STATE_COMPLETED", "STATE_COMPLETED"], 2),
    ("deleting", ["STATE_COMPLETED"], ["STATE_DELETED"], None)])
def test_the_next_start_tells_what_a_crash_kept_from_being_told(controller, scripts, begin, memory_path, where, after_crash,
                                                                after_start, latest):
    script = scripts(DYING.replace("WHERE", repr(where)), **controller.variables(MUSTER_RUN_DIR=str(memory_path)))
    script.end(-signal.SIGKILL)
    assert states(controller) == after_crash
    controller.run = 3  # another run tells it, in the name of the one that wrote it
    with begin(DET_TRIAL_RUN_ID="3", DET_ALLOCATION_ID="3.abc.3", MUSTER_RUN_ID="3") as context:
        assert states(controller) == after_start
        found = context.info.latest_checkpoint
        assert (found and context.checkpoint.get_metadata(found)["steps_completed"]) == latest
    assert not [name for name in os.listdir(memory_path / "checkpoints") if name.endswith(".partial")]


def test_a_refusal_of_an_old_checkpoint_does_not_stop_a_start(controller, scripts, begin, memory_path, caplog):
    scripts(DYING.replace("WHERE", "'writing'"), **controller.variables(MUSTER_RUN_DIR=str(memory_path))).end(-signal.SIGKILL)
    controller.is_hit = lambda method, path: method == "PATCH"
    controller.faults.append(400)
    with caplog.at_level(logging.WARNING, "muster"), begin() as context:
        assert context.checkpoint.get_metadata(context.info.latest_checkpoint)["steps_completed"] == 1
    assert "told to say 400" in caplog.text
    with begin():
        pass
    assert len(controller.said("PATCH", "/checkpoints")) == 0  # and it is not tried for ever


def test_where_a_run_resumes(controller, begin, memory_path):
    with begin() as context:
        assert context.info.latest_checkpoint is None
        first = write(context, 1)
    with begin(DET_LATEST_CHECKPOINT="of-another-trial") as context:
        assert context.info.latest_checkpoint == first  # its own came later
        context.checkpoint.delete(first)
    with begin(DET_LATEST_CHECKPOINT="of-another-trial") as context:
        assert context.info.latest_checkpoint == "of-another-trial"
    with begin(DET_LATEST_CHECKPOINT="of-another-trial", MUSTER_RESUME_FROM="chosen") as context:
        assert context.info.latest_checkpoint == "chosen"


TRAINER = """
    import sys
    sys.path.insert(0, TESTS)
    from digits import train_digits
    result, accuracy, weights = train_digits(6)
    print("weights", weights, flush=True)
    """


def test_a_trainer_that_a_controller_stopped_goes_on_exactly(controller, scripts, memory_folders):
    """As it does without one: twins that differ in where they report and in an interruption end with the same bits."""
    pytest.importorskip("torch")
    digits = pytest.importorskip("digits")
    if not digits.DIGITS.exists():
        pytest.skip(f"{digits.DIGITS} is not there")
    code = TRAINER.replace("TESTS", repr(str(PACKAGE / "tests")))
    whole = scripts(code, MUSTER_RUN_DIR=memory_folders() / "run").end()[0]
    folder = memory_folders() / "run"
    controller.run = 1
    report = controller._report
    controller._report = lambda body: (controller.preempt.set() if body["group"] == "validation" else None, report(body))[1]
    first = scripts(code, **{**controller.variables(MUSTER_RUN_DIR=folder), "DET_TRIAL_RUN_ID": 1, "MUSTER_RUN_ID": 1,
                             "DET_ALLOCATION_ID": "3.abc.1"}).end()[0]
    assert controller.acknowledged == 1 and "STATE_COMPLETED" in states(controller)
    assert first != whole
    controller.preempt.clear()
    controller.run, controller._report = 2, report
    latest = [uuid for uuid, each in controller.checkpoints.items() if each["state"] == "STATE_COMPLETED"][-1]
    second = scripts(code, **controller.variables(MUSTER_RUN_DIR=folder, DET_LATEST_CHECKPOINT=latest)).end()[0]
    assert second == whole
    done = controller.checkpoints[latest]["metadata"]["steps_completed"]
    again = [row["metrics"]["stepsCompleted"] for row in controller.rows
             if row["metrics"]["trialRunId"] == 2 and row["group"] == "training"]
    assert again and min(again) > done  # it went on, rather than begin again


# ---- when there is a controller ----

def test_a_laptop_with_an_address_has_no_controller(controller, monkeypatch, memory_path):
    for name, value in controller.variables(MUSTER_RUN_DIR=str(memory_path)).items():
        if name in ("DET_MASTER", "DET_USER", "DET_USER_TOKEN", "MUSTER_RUN_DIR"):
            monkeypatch.setenv(name, value)
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
    assert controller.requests == [] and core.read_metrics(memory_path)["training"][0].metrics == {"loss": 0.5}


@pytest.mark.parametrize("name, value, text", [
    ("DET_TASK_ID", "", "DET_TASK_ID is not set, but DET_SESSION_TOKEN and DET_TRIAL_ID are"),
    ("DET_MASTER", "https://here:1", "DET_MASTER is 'https://here:1'; it has the form http://host:port"),
    ("DET_TRIAL_RUN_ID", "zero", "DET_TRIAL_RUN_ID is 'zero'; it is a whole number of 1 or more"),
    ("MUSTER_CONTROLLER_RETRY_TIMEOUT", "-1", "MUSTER_CONTROLLER_RETRY_TIMEOUT is '-1'")])
def test_variables_that_do_not_fit_are_named(controller, begin, name, value, text):
    with pytest.raises(ValueError, match=text):
        begin(**{name: value})
    assert controller.requests == []


def test_the_waiting_time_of_reports_exceeds_that_of_a_request(controller, begin, memory_path):
    """Else a barrier would call a hanging disk what is only an outage."""
    with begin(MUSTER_CONTROLLER_RETRY_TIMEOUT="700") as context:
        assert context._backend.write_timeout_s > 700
        assert context._backend.rows_waiting_max == remote.ROWS_WAITING_MAX
