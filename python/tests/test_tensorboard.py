"""What TensorBoard itself reads from the files of runs: tools/clients_env.sh makes an environment that has it."""
import math

import pytest

from muster import core
from muster.core.tensorboard import FOLDER

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed")


def read(run_dir):
    found = accumulator.EventAccumulator(str(run_dir / FOLDER), size_guidance=accumulator.STORE_EVERYTHING_SIZE_GUIDANCE)
    found.Reload()
    return found


def scalars(found, tag):
    """[(step, value), ...]; NaN as a text, since it equals nothing."""
    if tag in found.Tags()["scalars"]:
        pairs = [(each.step, each.value) for each in found.Scalars(tag)]
    else:
        pairs = [(each.step, float(each.tensor_proto.float_val[0])) for each in found.Tensors(tag)]
    return [(step, "NaN" if math.isnan(value) else value) for step, value in pairs]


def test_all_numbers_are_there_by_group_and_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_HPARAMS", '{"lr": 0.5, "net": {"name": "größe", "nan": NaN}}')
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(1, {"loss": 0.5, "word": "x", "is_good": True})
        context.train.report_training_metrics(2, {"loss": math.nan})
        context.train.report_training_metrics(3, {"loss": math.inf, "least": -math.inf, "huge": 10 ** 300})  # beyond float32
        context.train.report_validation_metrics(3, {"accuracy": 0.25})
        context.train.report_metrics("extra", 2 ** 40, {"count": 7})
        context.train.report_system_metrics("cpu", {"utilization_ratio": 0.5})
    found = read(tmp_path)
    assert scalars(found, "training/loss") == [(1, 0.5), (2, "NaN"), (3, math.inf)]
    assert scalars(found, "training/least") == [(3, -math.inf)] and scalars(found, "training/huge") == [(3, math.inf)]
    assert scalars(found, "training/is_good") == [(1, 1.0)]
    assert scalars(found, "validation/accuracy") == [(3, 0.25)] and scalars(found, "extra/count") == [(2 ** 40, 7.0)]
    tags = found.Tags()
    assert set(tags["scalars"]) == {"training/loss", "training/least", "training/huge", "training/is_good", "validation/accuracy",
                                    "extra/count"}
    assert tags["tensors"] == ["hyperparameters"]
    (text,) = found.Tensors("hyperparameters")
    shown = text.tensor_proto.string_val[0].decode()
    assert '"lr": 0.5' in shown and '"name": "größe"' in shown and all(line.startswith("    ") for line in shown.splitlines())
    assert found.SummaryMetadata("hyperparameters").plugin_data.plugin_name == "text"


def train(run_dir, begin, end, scale, save_at=None):
    with core.init(run_dir=run_dir) as context:
        for step in range(begin, end + 1):
            context.train.report_training_metrics(step, {"loss": scale * step})
            if step % 5 == 0:
                context.train.report_validation_metrics(step, {"accuracy": scale * step})
            if step == save_at:
                with context.checkpoint.store_path({"steps_completed": step}):
                    pass


def test_a_resumed_run_takes_the_lost_segment_back(tmp_path):
    train(tmp_path, 1, 12, 1, save_at=5)
    train(tmp_path, 6, 8, 100)
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
    found = read(tmp_path)
    assert scalars(found, "training/loss") == [(step, float(step)) for step in range(1, 6)] + [(6, 600.0), (7, 700.0), (8, 800.0)]
    assert scalars(found, "validation/accuracy") == [(5, 5.0)]  # that of step 10 is lost, as in the run folder
    series = core.read_metrics(tmp_path)
    assert [row.steps for row in series["training"]] == list(range(1, 9)) and [row.steps for row in series["validation"]] == [5]


def test_a_run_that_begins_anew_takes_back_all(tmp_path):
    train(tmp_path, 1, 6, 1, save_at=4)
    train(tmp_path, 1, 3, 100)
    assert scalars(read(tmp_path), "training/loss") == [(1, 100.0), (2, 200.0), (3, 300.0)]


def test_a_killed_writer_leaves_what_can_be_read(tmp_path, scripts):
    script = scripts(f"""
        from muster import core
        from muster.core import event_files
        append = event_files.EventFile.append
        def torn(self, records):  # half of a record reaches the disk, and then the process is killed
            if b"last" in records:
                import os
                os.write(self._file, records[:-10])
                print("torn", flush=True)
                input()
            append(self, records)
        event_files.EventFile.append = torn
        with core.init(run_dir={str(tmp_path)!r}) as context:
            for step in range(1, 51):
                context.train.report_training_metrics(step, {{"loss": float(step)}})
            context.train.flush()
            context.train.report_training_metrics(51, {{"last": 51.0}})
            context.train.flush()
    """)
    script.wait_for("torn")
    script.kill()
    found = read(tmp_path)
    assert scalars(found, "training/loss") == [(step, float(step)) for step in range(1, 51)]
    assert "training/last" not in found.Tags()["scalars"]
    train(tmp_path, 51, 52, 1)
    assert [step for step, _ in scalars(read(tmp_path), "training/loss")] == list(range(1, 53))


def test_a_reader_follows_a_run_that_writes(tmp_path):
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        context.train.flush()
        found = read(tmp_path)
        assert scalars(found, "training/loss") == [(1, 1.0)]
        context.train.report_training_metrics(2, {"loss": 2.0})
        context.train.flush()
        found.Reload()
        assert scalars(found, "training/loss") == [(1, 1.0), (2, 2.0)]
