"""examples/anywhere/train.py: alone, stopped and resumed to the very same weights, and under torchrun."""
import json
import os
import runpy
import signal
import time

import pytest

from conftest import PACKAGE
from muster import core

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

TRAIN = str(PACKAGE.parent / "examples/anywhere/train.py")
TORCHRUN = ("-m torch.distributed.run --redirects 1 --tee 1 --nproc_per_node 2 "
            "--rdzv_backend c10d --rdzv_endpoint 127.0.0.1:0 ")


def weights(folder):
    """Of the checkpoint that the run folder completed last."""
    with core.init(run_dir=folder) as context:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            return torch.load(path / "state.pt")


def is_equal(one, other):
    return all(torch.equal(one["network"][name], other["network"][name]) for name in one["network"])


def train(monkeypatch, capsys, folder, **variables):
    """Runs the example in this process, which has loaded torch already; the answer is what it printed."""
    with monkeypatch.context() as patch:
        for name, value in {"MUSTER_RUN_DIR": folder, **variables}.items():
            patch.setenv(name, str(value))
        assert runpy.run_path(TRAIN)["main"]() == 0
    return capsys.readouterr().out


def test_alone_stopped_and_resumed(scripts, tmp_path, monkeypatch, capsys):
    hparams = '{"epochs": 80}'
    parts = scripts(TRAIN, MUSTER_RUN_DIR=tmp_path / "parts", MUSTER_HPARAMS=hparams)
    parts.wait_for("run 1")
    os.kill(parts.pid, signal.SIGTERM)
    whole = train(monkeypatch, capsys, tmp_path / "whole", MUSTER_HPARAMS=hparams)
    assert "stopped; start again" in parts.end()[0]
    stopped = weights(tmp_path / "parts")["epoch"]
    assert 1 <= stopped < 80
    out = train(monkeypatch, capsys, tmp_path / "parts", MUSTER_RUN_ID=3, MUSTER_HPARAMS=hparams)
    assert f"run 3 of {tmp_path}/parts begins after epoch {stopped}\n" in out
    assert out.splitlines()[-1] == whole.splitlines()[-1] and "test accuracy 0.9" in out
    assert is_equal(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    series = core.read_metrics(tmp_path / "parts")
    expected = [(1 if steps <= stopped else 3, steps) for steps in range(1, 81)]
    assert [(each.run, each.steps) for each in series["validation"]] == expected
    assert series["validation"][-1].metrics["accuracy"] > 0.95


def test_under_torchrun_stopped_and_resumed_alone(scripts, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "run"
    # Unbuffered: torchrun keeps its ranks' lines until there are 8 KiB of them, which a slow machine takes minutes for.
    ranks = scripts(TORCHRUN + TRAIN, MUSTER_RUN_DIR=folder, MUSTER_HPARAMS='{"epochs": 2000, "lr": 0.1}', PYTHONUNBUFFERED=1)
    ranks.wait_for("[default0]:run 1")
    # While torchrun writes that line out it would swallow a signal: it is under way once epochs are reported.
    for _ in range(600):
        if len(core.read_metrics(folder).get("training", [])) >= 3:
            break
        time.sleep(0.1)
    os.kill(ranks.pid, signal.SIGTERM)  # torchrun passes it on to its ranks
    out, err = ranks.end(None)
    assert "[default0]:stopped; start again" in out, err
    done = max(each.steps for each in core.read_metrics(folder)["training"])
    assert done < 2000
    out = train(monkeypatch, capsys, folder, MUSTER_HPARAMS=json.dumps({"epochs": done + 20, "lr": 0.1}))
    assert f"begins after epoch {done}\n" in out and "test accuracy 0.9" in out
    assert [each.steps for each in core.read_metrics(folder)["training"]] == list(range(1, done + 21))


# ---- examples/trainer ----

TRAINER = str(PACKAGE.parent / "examples/trainer/train.py")


def test_the_trainers_example_on_two_ranks(scripts, tmp_path):
    launcher = f"-m muster.launch.torch_distributed --nproc-per-node 2 --prefix {TRAINER}"
    out, _ = scripts(launcher, MUSTER_RUN_DIR=tmp_path / "run", MUSTER_HPARAMS='{"epochs": 8}').end()
    assert [line.split(" accuracy ")[0] for line in out.splitlines()] == ["[rank=0]"]
    accuracy = float(out.split("accuracy ")[1].split()[0])
    assert accuracy > 0.95
    series = core.read_metrics(tmp_path / "run")
    assert round(series["validation"][-1].metrics["accuracy"], 4) == accuracy and len(series["validation"]) == 8


def test_the_trainers_example_is_certified_exact(scripts, memory_path):
    words = f"-m muster.certify --interruptions 1 --kinds kill --folder {memory_path}/runs {TRAINER}"
    out, _ = scripts(words, MUSTER_HPARAMS='{"epochs": 4}').end()
    assert "verdict: exact" in out and "checkpoint: exact" in out
