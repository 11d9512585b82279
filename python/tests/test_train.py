"""Reports: kept in order, once, durably; refused by name."""
import json
import math
import threading

import pytest

from muster import core
from muster.core import local
from muster.core.shipper import ROWS_MAX, Shipper
from muster.core.metrics import MetricRow


def lines_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def row(steps=1, group="training", **metrics):
    return MetricRow(1, group, steps, 0.0, metrics)


def test_a_line_per_report(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(3, {"loss": math.nan, "lr": 0.1},
                                              batch_metrics=[{"loss": math.inf}, {"loss": 2}])
        context.train.report_validation_metrics(3, {"accuracy": 0.5})
        context.train.report_metrics("mine", 4, {"x": True})
        context.train.flush()
        lines = lines_of(tmp_path)
    assert [line.pop("time") > 1e9 for line in lines] == [True] * 3
    assert lines == [
        {"run": 1, "group": "training", "steps": 3, "metrics": {"loss": "NaN", "lr": 0.1},
         "batch_metrics": [{"loss": "Infinity"}, {"loss": 2}]},
        {"run": 1, "group": "validation", "steps": 3, "metrics": {"accuracy": 0.5}},
        {"run": 1, "group": "mine", "steps": 4, "metrics": {"x": True}}]
    found = core.read_metrics(tmp_path)["training"][0]
    assert math.isnan(found.metrics["loss"]) and found.batch_metrics[0]["loss"] == math.inf


def test_an_equal_repeat_is_kept_once_and_new_names_are_added(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        for _ in range(2):
            context.train.report_training_metrics(1, {"a": 1, "nan": math.nan}, batch_metrics=[{"a": 1}])
        context.train.report_training_metrics(1, {"a": 1, "b": 2})
    assert [line["metrics"] for line in lines_of(tmp_path)] == [{"a": 1, "nan": "NaN"}, {"b": 2}]


@pytest.mark.parametrize("metrics, batches", [({"a": 2}, None), ({"a": 1}, [{"a": 2}])])
def test_a_different_value_is_an_error_of_a_later_report_and_keeps_the_rest(tmp_path, metrics, batches):
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(1, {"a": 1}, batch_metrics=[{"a": 1}])
        context.train.report_training_metrics(1, {**metrics, "lost": 0}, batches)
        context.train.report_training_metrics(2, {"a": 5})
        text = "run 1 reported .* of group 'training' at step 1 as .*1.* and now as .*2"
        with pytest.raises(core.MetricConflictError, match=text):
            context.train.flush()
        context.train.report_training_metrics(3, {"a": 6})
    assert [(line["steps"], line["metrics"]) for line in lines_of(tmp_path)] == [(1, {"a": 1}), (2, {"a": 5}), (3, {"a": 6})]


def test_a_failure_that_nobody_saw_is_raised_at_the_end(tmp_path):
    with pytest.raises(core.MetricConflictError):
        with core.init(run_dir=tmp_path) as context:
            context.train.report_training_metrics(1, {"a": 1})
            context.train.report_training_metrics(1, {"a": 2})
            context.train.drain()


def test_the_scripts_own_error_comes_before_that(tmp_path, caplog):
    with pytest.raises(KeyError):
        with core.init(run_dir=tmp_path) as context:
            context.train.report_training_metrics(1, {"a": 1})
            context.train.report_training_metrics(1, {"a": 2})
            context.train.drain()
            raise KeyError
    assert "while ending after KeyError: run 1 reported 'a'" in caplog.text


def test_repeats_are_known_when_the_same_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_RUN_ID", "1")
    for value in (1, 1):
        with core.init(run_dir=tmp_path) as context:
            context.train.report_training_metrics(1, {"a": value})
    assert len(lines_of(tmp_path)) == 1
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(1, {"a": 2})
        with pytest.raises(core.MetricConflictError):
            context.train.flush()
    monkeypatch.delenv("MUSTER_RUN_ID")
    with core.init(run_dir=tmp_path) as context:  # another run may measure anew
        context.train.report_training_metrics(1, {"a": 2})


def test_repeats_are_known_of_steps_long_past(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "STEPS_REMEMBERED", 5)
    with core.init(run_dir=tmp_path) as context:
        for steps in (*range(20), 3, 0, 30, 3):
            context.train.report_training_metrics(steps, {"a": steps})
            context.train.flush()  # what is not written yet is always among those remembered
        context.train.report_training_metrics(7, {"b": 1})
        context.train.report_training_metrics(7, {"b": 1})
        context.train.flush()
        context.train.report_training_metrics(4, {"a": 5})
        with pytest.raises(core.MetricConflictError, match="at step 4 as 4 and now as 5"):
            context.train.flush()
    assert [line["steps"] for line in lines_of(tmp_path)] == [*range(20), 30, 7]


def test_a_stale_run_is_refused(tmp_path):
    context = core.init(run_dir=tmp_path)
    context.train.report_training_metrics(1, {"a": 1})
    context.train.flush()
    with open(tmp_path / "runs.jsonl", "a", encoding="utf-8") as runs:
        runs.write('{"run": 2}\n')
    context.train.report_training_metrics(2, {"a": 1})
    for call in (context.train.flush, lambda: context.train.report_training_metrics(3, {"a": 1}), context.close):
        with pytest.raises(core.StaleRunError, match="run 1 .* is stale: run 2"):
            call()
    assert len(lines_of(tmp_path)) == 1


def test_what_is_wrong_in_a_report_is_said_at_once(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        with pytest.raises(ValueError, match="'a.b'"):
            context.train.report_metrics("a.b", 1, {})
        with pytest.raises(ValueError, match="steps_completed is -1"):
            context.train.report_validation_metrics(-1, {})
        with pytest.raises(TypeError, match="metric 'loss' of group 'training' is a list"):
            context.train.report_training_metrics(1, {"loss": [1]})
        with pytest.raises(TypeError, match="metric 'x'"):
            context.train.report_training_metrics(1, {}, batch_metrics=[{"x": None}])
        with pytest.raises(ValueError, match="metric 'x' of group 'training' is a whole number"):
            context.train.report_training_metrics(1, {"x": 10 ** 400})
        with pytest.raises(ValueError, match="named 'batch_metrics' beside batch metrics"):
            context.train.report_training_metrics(1, {"batch_metrics": 1}, batch_metrics=[{"x": 1}])
    with pytest.raises(RuntimeError, match="closed"):
        context.train.report_training_metrics(1, {"a": 1})


@pytest.mark.parametrize("value", [True, "good"])
def test_what_a_search_compares_by_is_a_number(tmp_path, monkeypatch, value):
    monkeypatch.setenv("MUSTER_SEARCHER_METRIC", "loss")
    with core.init(run_dir=tmp_path) as context:
        wrong = "metric 'loss' of group 'validation' is a (bool|str); the search compares"
        with pytest.raises(TypeError, match=wrong):
            context.train.report_validation_metrics(1, {"loss": value})
        context.train.report_validation_metrics(1, {"loss": math.nan, "other": value})
        context.train.report_training_metrics(1, {"loss": value})
    assert len(lines_of(tmp_path)) == 2


class Sink:
    """Waits for `go` in each append, and then fails if told so."""

    def __init__(self, error=None):
        self.go = threading.Event()
        self.began = threading.Event()
        self.error = error
        self.batches = []

    def append(self, rows):
        self.began.set()
        assert self.go.wait(10)
        if self.error:
            raise self.error
        self.batches.append([each.steps for each in rows])

    def close(self):
        pass


def test_reports_do_not_wait_for_the_disk_and_share_its_syncs():
    sink = Sink()
    shipper = Shipper(sink)
    shipper.put(row(0))
    assert sink.began.wait(10)
    for steps in range(1, ROWS_MAX + 1):
        shipper.put(row(steps))
    sink.go.set()
    shipper.close()
    assert sink.batches == [[0], list(range(1, ROWS_MAX + 1))]


def test_a_full_queue_waits_and_gives_up_at_its_bound():
    sink = Sink()
    shipper = Shipper(sink, write_timeout_s=0.05)
    shipper.put(row())
    assert sink.began.wait(10)
    for _ in range(ROWS_MAX):
        shipper.put(row())
    with pytest.raises(core.StorageError, match="1000 metric reports wait for 0.05 s"):
        shipper.put(row())
    sink.go.set()


def test_a_hanging_disk_is_told_by_flush_and_close():
    sink = Sink()
    shipper = Shipper(sink, write_timeout_s=0.05)
    shipper.put(row())
    for call in (shipper.flush, shipper.close):
        with pytest.raises(core.StorageError, match="disk hangs"):
            call()
    sink.go.set()


def test_a_failure_of_the_disk_is_raised_by_every_later_call():
    sink = Sink(core.StorageError("cannot write in /somewhere"))
    sink.go.set()
    shipper = Shipper(sink)
    shipper.put(row())
    for call in (shipper.flush, lambda: shipper.put(row()), shipper.close):
        with pytest.raises(core.StorageError, match="/somewhere"):
            call()


KILLED = """
import itertools
from muster import core
with core.init() as context:
    for step in itertools.count(1):
        context.train.report_training_metrics(step, {"loss": 1 / step, "filler": "x" * 300})
        if step % 7 == 0:
            context.train.flush()
            print("durable", step, flush=True)
"""


def test_a_kill_while_reporting_loses_nothing_that_was_flushed(scripts, tmp_path):
    for round_number in range(4):
        folder = tmp_path / str(round_number)
        script = scripts(KILLED, MUSTER_RUN_DIR=folder)
        for _ in range(3 + 11 * round_number):
            durable = int(script.wait_for("durable").split()[1])
        script.kill()
        durable = max([durable] + [int(line.split()[1]) for line in script.process.stdout.read().splitlines()])
        if round_number == 0:  # a kill may well leave whole lines; here one is certainly torn
            with open(folder / "metrics.jsonl", "ab") as file:
                file.write(b'{"run": 1, "group": "tra')
        found = [each.steps for each in core.read_metrics(folder)["training"]]
        assert found == list(range(1, len(found) + 1)) and len(found) >= durable
        with core.init(run_dir=folder) as context:
            context.train.report_training_metrics(2, {"loss": 7.0})
        assert [(each.run, each.steps) for each in core.read_metrics(folder)["training"]] == [(1, 1), (2, 2)]


def test_a_full_disk_is_an_error_that_names_the_folder(small_disk):
    context = core.init(run_dir=small_disk / "run")
    text = f"cannot write metrics.jsonl in {small_disk}/run: No space left on device; make room"
    with pytest.raises(core.StorageError, match=text):
        for steps in range(1000):
            context.train.report_training_metrics(steps, {"x": "x" * 2000})
            if steps % 50 == 0:
                context.train.flush()
    with pytest.raises(core.StorageError, match="No space left"):
        context.close()
    kept = [each.steps for each in core.read_metrics(small_disk / "run")["training"]]
    assert kept == list(range(len(kept))) and kept


def test_status_progress_and_exit(tmp_path, monkeypatch):
    def status():
        return json.loads((tmp_path / "status.json").read_text())

    with core.init(run_dir=tmp_path) as context:
        context.train.set_status("loading")
        assert (status()["run"], status()["status"]) == (1, "loading")
        for progress in (0.1, 0.2, 0.75):
            context.train.report_progress(progress)
        assert status().get("progress") != 0.75  # at most once a second
        for progress in (-0.1, 1.1, math.nan):
            with pytest.raises(ValueError, match="0..1"):
                context.train.report_progress(progress)
        with pytest.raises(ValueError, match="'bored' is none of invalid_hp"):
            context.train.report_early_exit("bored")
    assert status()["progress"] == 0.75
    with core.init(run_dir=tmp_path) as context:
        context.train.report_early_exit("invalid_hp")
        assert status()["early_exit"] == "invalid_hp" and "progress" not in status() and status()["run"] == 2


def test_metadata_is_the_trials(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        assert context.train.get_metadata() == {}
        context.train.set_metadata({"notes": ["a"], "best": math.inf})
        with pytest.raises(TypeError, match=r"metadata\['x'\]"):
            context.train.set_metadata({"x": object()})
    with core.init(run_dir=tmp_path) as context:
        assert context.train.get_metadata() == {"notes": ["a"], "best": math.inf}
        path = context.train.get_tensorboard_path()
        assert path.is_dir() and path == tmp_path / "tensorboard"


def test_a_forked_process_does_not_report(scripts, tmp_path):
    script = scripts("""
        import os
        from muster import core
        context = core.init()
        if os.fork() == 0:
            try:
                context.train.report_training_metrics(1, {"a": 1})
            except RuntimeError as error:
                print(error, flush=True)
            raise SystemExit
        os.wait()
        context.train.report_training_metrics(2, {"a": 1})
        """, MUSTER_RUN_DIR=tmp_path)
    out, err = script.end()
    assert "not by one forked from it" in out and err == ""
    assert [each.steps for each in core.read_metrics(tmp_path)["training"]] == [2]  # kept at exit, without a with block
