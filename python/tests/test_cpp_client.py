"""The library for C++ trainers, by its example program: what it reports and stores is what this package reports and stores.

Skipped where the program is not built (`make build`).
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import wait_until
from fake_controller import FakeController
from muster import core
from muster.core.storage import FolderStorage

BIN = Path(os.environ.get("MUSTER_BIN", Path(__file__).resolve().parents[2] / "build/release/bin"))
PROGRAM = BIN / "muster-cpp-example"
TIMEOUT_S = 60

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


@pytest.fixture
def controller():
    made = FakeController()
    yield made
    made.preempt.set()
    made.stop()
    assert made.wrong == []


def environment(folder, **more):
    keep = {name: text for name, text in os.environ.items() if not name.startswith(("MUSTER_", "DET_", "SLURM_"))}
    return {**keep, "MUSTER_RUN_DIR": str(folder), **more}


def start(folder, **more):
    return subprocess.Popen([PROGRAM], env=environment(folder, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    return out


def fingerprint(out):
    return re.search(r"ended after epoch \d+: .* (fingerprint \w+)", out).group(1)


def test_an_interrupted_training_arrives_where_an_uninterrupted_one_does(tmp_path):
    whole = ended(start(tmp_path / "whole"))
    slow = {"MUSTER_HPARAMS": json.dumps({"pause_s": 0.05})}
    first = start(tmp_path / "cut", **slow)
    wait_until(lambda: core.read_metrics(tmp_path / "cut").get("validation", []) != [], "a report")
    first.send_signal(signal.SIGTERM)
    said = ended(first)
    at = int(re.search(r"stopped after epoch (\d+)", said).group(1))
    assert 0 < at < 40
    second = start(tmp_path / "cut", **slow)
    wait_until(lambda: len(core.read_metrics(tmp_path / "cut")["validation"]) > at + 12, "it goes on")
    second.kill()
    second.wait()
    last = ended(start(tmp_path / "cut"))
    begun = int(re.search(r"run 3 begins after epoch (\d+)", last).group(1))
    assert begun >= at and (begun == at or begun % 10 == 0)
    assert fingerprint(last) == fingerprint(whole)
    series = {name: core.read_metrics(tmp_path / name) for name in ("whole", "cut")}
    rows = {name: [(row.steps, row.metrics) for row in each["validation"]] for name, each in series.items()}
    assert rows["cut"] == rows["whole"] and len(rows["whole"]) == 40


def test_this_package_goes_on_from_its_checkpoints_and_it_from_this_ones(tmp_path, monkeypatch):
    ended(start(tmp_path, MUSTER_HPARAMS='{"epochs": 20}'))
    for name in ("MUSTER_RUN_DIR", "DET_MASTER"):
        monkeypatch.delenv(name, raising=False)
    with core.init(run_dir=tmp_path) as context:
        assert context.info.run_id == 2
        latest = context.info.latest_checkpoint
        assert context.checkpoint.get_metadata(latest) == {"steps_completed": 20}
        with context.checkpoint.restore_path(latest) as path, \
                context.checkpoint.store_path({"steps_completed": 20}) as (target, uuid):
            (target / "model.bin").write_bytes((path / "model.bin").read_bytes())
    out = ended(start(tmp_path))
    assert "run 3 begins after epoch 20" in out
    assert FolderStorage(tmp_path / "checkpoints").resources(uuid) == {"model.bin": 2 * 170 * 8}
    assert fingerprint(out) == fingerprint(ended(start(tmp_path / "other")))


def test_a_trial_reports_to_its_controller(controller, tmp_path):
    out = ended(start(tmp_path, **controller.variables(MUSTER_MAX_LENGTH='{"epochs": 12}')))
    assert "run 2 begins after epoch 0" in out and "ended after epoch 12" in out
    assert len([key for key in controller.metrics if key[0] == "validation" and key[2] == "accuracy"]) == 12
    assert controller.calls["progress"] == {"progress": 1.0} or controller.calls["progress"] == 1.0
    done = [document for document in controller.checkpoints.values() if document["state"] == "STATE_COMPLETED"]
    assert sorted(document["metadata"]["steps_completed"] for document in done) == [10, 12]
    assert {tuple(document["resources"].items()) for document in done} == {(("model.bin", "2720"),)}
    assert controller.acknowledged == 0 and not (tmp_path / "metrics.jsonl").exists()


def test_a_stop_of_the_controllers_is_acknowledged_and_the_next_run_goes_on(controller, tmp_path):
    slow = {"MUSTER_HPARAMS": '{"pause_s": 0.05}'}
    process = start(tmp_path, **controller.variables(**slow))
    wait_until(lambda: ("validation", 2, "accuracy") in controller.metrics, "two epochs")
    controller.preempt.set()
    assert "stopped after epoch" in ended(process)
    assert controller.acknowledged == 1
    controller.preempt.clear()
    controller.run = 3
    more = {"MUSTER_RUN_ID": "3", "DET_TRIAL_RUN_ID": "3", "DET_ALLOCATION_ID": "3.abc.3"}
    assert re.search(r"run 3 begins after epoch [1-9]", ended(start(tmp_path, **controller.variables(**more))))
    assert len([key for key in controller.metrics if key[0] == "validation" and key[2] == "accuracy"]) == 40


def test_nothing_is_lost_while_the_controller_restarts_and_answers_badly(controller, tmp_path):
    controller.is_hit = lambda method, path: "preemption" not in path
    controller.faults.extend(["drop after", 503, "drop before", "drop after", 502])
    process = start(tmp_path, **controller.variables(MUSTER_HPARAMS='{"pause_s": 0.02}'))
    wait_until(lambda: ("validation", 3, "accuracy") in controller.metrics, "three epochs")
    controller.stop()
    time.sleep(0.5)
    controller.start()
    ended(process)
    for group, count in (("validation", 80), ("training", 40)):
        assert len([key for key in controller.metrics if key[0] == group]) == count


def test_a_run_that_is_stale_ends_and_says_so(controller, tmp_path):
    controller.run = 5
    process = start(tmp_path, **controller.variables())
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1 and "a newer run of this trial has begun" in err


@pytest.mark.skipif(not (BIN.parent / "cpp/cmake_install.cmake").exists() or not all(map(shutil.which, ("cmake", "g++", "pkg-config"))),
                    reason="no build folder with cmake, g++ and pkg-config")
def test_what_is_installed_compiles_and_links_a_trainer(tmp_path):
    prefix = tmp_path / "moved"
    subprocess.run(["cmake", "--install", BIN.parent / "cpp", "--prefix", tmp_path / "prefix"], check=True, capture_output=True)
    (tmp_path / "prefix").rename(prefix)
    (place,) = prefix.glob("**/pkgconfig")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "muster-core"], env={**os.environ, "PKG_CONFIG_PATH": str(place)}, check=True,
                           capture_output=True, text=True).stdout.split()
    (tmp_path / "train.cc").write_text('#include <muster/core.hpp>\nint main() { muster::core::init().train().report_validation_metrics(1, {{"a", 0.5}}); }\n')
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "train.cc", "-o", "train", *flags], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "train"], env=environment(tmp_path / "run"), check=True)
    assert [row.metrics for row in core.read_metrics(tmp_path / "run")["validation"]] == [{"a": 0.5}]
