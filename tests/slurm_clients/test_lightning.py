"""Lightning under Slurm: DistributedDataParallel over two nodes, and its requeue: a signal, a checkpoint, `scontrol requeue`, the next step.

Lightning and the torch that it is new enough for are in another virtual environment, tools/adapters_env.sh's.
"""
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("lightning_train.py")
PYTHON = SCRIPT.parents[2] / "build/adapters-venv/bin/python"
STEPS, HOLD = 12, 5


@pytest.fixture(scope="module")
def python():
    if not PYTHON.exists():
        pytest.skip("Lightning is not installed: tools/adapters_env.sh")
    return PYTHON


def test_a_training_is_signalled_requeued_and_goes_on(python, cluster, folder, until):
    job = cluster.sbatch(f"srun {python} {SCRIPT} {folder} {STEPS} {HOLD}\n", "-N2", "--ntasks-per-node=1", "-t", "10", "-o", "job.out",
                         "--open-mode=append", cwd=folder)
    until(lambda: len(list(folder.glob("held-*"))) == 2 or cluster.job(job)["State"] == "FAILED", "both ranks reach the step")
    cluster.run("scancel", "--signal=USR1", job)
    end = cluster.wait_ended(job, timeout=180)
    printed = (folder / "job.out").read_text()
    assert end["State"] == "COMPLETED", printed
    steps = re.findall(r"^run (\d) of (\d) ranks: step (\d+), weight (\S+)$", (folder / "steps").read_text(), re.M)
    assert [(int(run), int(step)) for run, _, step, _ in steps] == \
        [(0, step) for step in range(1, HOLD + 1)] + [(1, step) for step in range(HOLD + 1, STEPS + 1)], printed
    assert {ranks for _, ranks, _, _ in steps} == {"2"}
    weights = [float(weight) for *_, weight in steps]
    assert weights == sorted(weights) and weights[0] > 0, "the second run began with the first one's weight"
