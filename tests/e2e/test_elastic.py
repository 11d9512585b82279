"""Trials that are resized between their runs, with real daemons: by a checkpoint and a new run, on as many slots as there are."""
import re

import pytest

from conftest import ROOT, experiment_folder, until

TRAIN = """\
import os
import sys
import time

from muster import core

with core.init() as context:
    done = 0
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            done = int((path / "done").read_text())
    print(f"begins at {done} on {len(os.environ['CUDA_VISIBLE_DEVICES'].split(','))} slots, told {os.environ['MUSTER_SLOTS']}", flush=True)
    while done < 400 and not os.path.exists(sys.argv[1]):
        done += 1
        time.sleep(0.1)
        context.train.report_validation_metrics(done, {"loss": 1 / done})
        if context.preempt.should_preempt():
            break
    with context.checkpoint.store_path({"steps_completed": done}) as (path, _):
        (path / "done").write_text(str(done))
"""


@pytest.fixture
def lab(own_cluster):
    made = own_cluster(nodes=1, gpus=4, cpus=8, conf={"KillWait": "2", "MusterResizeInterval": "3"})
    (made.work / "code").mkdir()
    (made.work / "code" / "train.py").write_text(TRAIN)
    return made


def create(lab, slots, end):
    (lab.work / "e.yaml").write_text(
        f"name: e\nentrypoint: /usr/bin/python3 train.py {lab.work / end}\nmax_restarts: 0\nsearcher: {{name: single, metric: loss}}\n"
        f"resources: {{slots_per_trial: {slots}}}\n"
        f"checkpoint_storage: {{type: shared_fs, host_path: {lab.work / 'storage'}}}\n"
        f"environment: {{environment_variables: [PYTHONPATH={ROOT / 'python'}]}}\n")
    return int(re.search(r"Created experiment (\d+)", lab.run("muster", "experiment", "create", "e.yaml", "code").out).group(1))


def runs(lab, experiment):
    """(where it began, on how many slots) of each run."""
    logs = list(experiment_folder(lab.work / "storage", experiment).glob("trial-*/output.log"))
    text = logs[0].read_text() if logs else ""
    return [(int(done), int(slots)) for done, slots in re.findall(r"begins at (\d+) on (\d+) slots, told \2\n", text)]


def test_a_trial_takes_what_is_free_makes_room_and_grows_again(lab):
    first = create(lab, "{min: 1, max: 4}", "first.end")
    until(lambda: runs(lab, first) == [(0, 4)], lambda: f"all four GPUs: {runs(lab, first)}")
    second = create(lab, "1", "second.end")
    until(lambda: len(runs(lab, first)) == 2, lambda: f"it makes room: {runs(lab, first)}\n{lab.run('squeue').out}")
    until(lambda: len(runs(lab, second)) == 1, lambda: lab.run("squeue").out)
    assert runs(lab, first)[1][1] == 3, runs(lab, first)
    assert runs(lab, first)[1][0] > 0, "it went on from its checkpoint"
    (lab.work / "second.end").touch()
    until(lambda: len(runs(lab, first)) == 3, lambda: f"it grows again: {runs(lab, first)}\n{lab.run('squeue').out}")
    assert runs(lab, first)[2][1] == 4, runs(lab, first)
    (lab.work / "first.end").touch()
    lab.run("muster", "experiment", "wait", first, "-q")
    assert [begun for begun, _ in runs(lab, first)] == sorted(begun for begun, _ in runs(lab, first))
    assert lab.run("muster", "experiment", "wait", second, "-q").code == 0


def test_a_trial_that_waits_makes_do_with_what_there_is(lab):
    fixed = create(lab, "3", "fixed.end")
    until(lambda: len(runs(lab, fixed)) == 1, lambda: lab.run("squeue").out)
    elastic = create(lab, "{min: 1, max: 3}", "elastic.end")
    until(lambda: len(runs(lab, elastic)) == 1, lambda: lab.run("squeue").out)
    assert runs(lab, elastic) == [(0, 1)]
    for end in ("fixed.end", "elastic.end"):
        (lab.work / end).touch()
    for experiment in (fixed, elastic):
        lab.run("muster", "experiment", "wait", experiment, "-q")
