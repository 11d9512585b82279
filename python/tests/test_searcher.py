"""How far to train."""
import json
import math

import pytest

from muster import core


def status(folder):
    return json.loads((folder / "status.json").read_text())


def test_one_operation_of_the_length_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_MAX_LENGTH", '{"epochs": 64}')
    monkeypatch.setenv("MUSTER_SEARCHER_METRIC", "accuracy")
    with core.init(run_dir=tmp_path) as context:
        assert context.searcher.get_search_info() == core.Search("accuracy", core.MaxLength(64, "epochs"))
        operations = context.searcher.operations()
        operation = next(operations)
        assert (operation.length, operation.unit) == (64, "epochs")
        operation.report_progress(16)
        operation.report_completed(math.nan)
        with pytest.raises(core.MusterError, match="completed before"):
            operation.report_completed(1.0)
        assert not list(operations)
        with pytest.raises(ValueError, match="counts from 0"):
            operation.report_progress(-1)
    assert status(tmp_path)["searcher"] == {"length": 64, "metric": "NaN"} and status(tmp_path)["progress"] == 0.25


def test_a_plain_number_a_default_and_nothing(tmp_path, monkeypatch):
    with core.init(run_dir=tmp_path) as context:
        with pytest.raises(ValueError, match="MUSTER_MAX_LENGTH is not set"):
            next(context.searcher.operations())
        assert next(context.searcher.operations(default_length=3)).length == 3
        with pytest.raises(ValueError, match="positive"):
            next(context.searcher.operations(default_length=0))
        assert context.searcher.get_search_info() == core.Search(None, None)
    monkeypatch.setenv("MUSTER_MAX_LENGTH", "100")
    with core.init(run_dir=tmp_path) as context:
        assert [(each.length, each.unit) for each in [next(context.searcher.operations(default_length=3))]] == [(100, None)]


def test_a_loop_that_reports_nothing_is_an_error_but_may_be_left(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        for _ in context.searcher.operations(default_length=1):
            break
        with pytest.raises(core.MusterError, match="without report_completed"):
            for _ in context.searcher.operations(default_length=1):
                pass
