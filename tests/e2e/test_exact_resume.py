"""A training under a controller that is interrupted wherever it can be equals its uninterrupted twin, bit for bit.

The kinds of interruptions and their order are drawn; EXACT_RESUME_SEED draws the same again. Needs Debian's torch.
"""
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, until
from test_experiment import create, folder, trials, wait
from test_http import Web
from test_training import PACKAGE, TIMEOUT_S, PYTHON, checkpoints, series, show_figures, write

pytestmark = pytest.mark.long

TEXT = ROOT.parent / "shared/data/train/tinyshakespeare.txt.gz"
SEED = int(os.environ.get("EXACT_RESUME_SEED", str(random.randrange(1 << 30))))

# The character model of the package's own tests, slow enough to be interrupted until the file `hurry` is there. A rank dies in the
# next save at the point that it finds in its file `die`.
INTERRUPTED = """import os
import sys
import time
from pathlib import Path

import char_model
import save_points

FOLDER = Path(os.environ["MUSTER_RUN_DIR"])
RANK = int(os.environ.get("RANK", "0"))
DIE = FOLDER / f"die-{RANK}"
train_batch = char_model.CharModel.train_batch


def paced(self, batch, epoch_idx, batch_idx):
    if "--slow" in sys.argv and not (FOLDER / "hurry").exists():
        time.sleep(0.08)
    return train_batch(self, batch, epoch_idx, batch_idx)


def is_time_to_die(point):
    if not DIE.exists() or DIE.read_text() != point:
        return False
    DIE.unlink()
    return True


char_model.CharModel.train_batch = paced
save_points.arrange(is_time_to_die, RANK)
(FOLDER / "seed").write_text(os.environ["MUSTER_SEED"])
(FOLDER / f"new-{RANK}").write_text(str(os.getpid()))
(FOLDER / f"new-{RANK}").rename(FOLDER / f"pid-{RANK}")
print(char_model.train(int(sys.argv[1])), flush=True)
"""
WHERE = "from pathlib import Path\nPACKAGE = Path({!r})\n"


class Interrupted:
    """A trial of the character model and the ways to interrupt it. After each of them it has come further before the next."""

    def __init__(self, cluster, web, batches, nodes=1, ranks_per_node=1, options=()):
        self.cluster, self.web, self.batches, self.size = cluster, web, batches, nodes * ranks_per_node
        launcher = f"-m muster.launch.torch_distributed --nproc-per-node {ranks_per_node} " if self.size > 1 else ""
        file = write(cluster, {
            "name": "resume", "entrypoint": f"{PYTHON} {launcher}resume.py {shlex.join([str(batches), *options])}", "max_restarts": 100,
            "searcher": {"name": "single", "metric": "loss", "smaller_is_better": True},
            "resources": {"slots_per_trial": self.size}, "reproducibility": {"experiment_seed": 5}},
            resume=INTERRUPTED, conftest=WHERE.format(str(PACKAGE)),
            **{name: (PACKAGE / f"tests/{name}.py").read_text() for name in ("char_model", "save_points")})
        self.experiment = create(cluster, file)
        (row,) = until(lambda: trials(cluster, self.experiment), timeout=TIMEOUT_S)
        self.trial, self.job = row["TRIAL"], row["JOB"]

    @property
    def folder(self):
        return folder(self.cluster, self.experiment, self.trial)

    def row(self):
        return trials(self.cluster, self.experiment)[0]

    def saved(self):
        """Steps of the newest checkpoint that the controller knows to be whole."""
        return max((each["metadata"]["steps_completed"] for each in checkpoints(self.web, self.trial)), default=0)

    def goes_on(self, by=5):
        """Until it has trained, reported and saved that much more."""
        wanted = self.saved() + by
        until(lambda: self.saved() >= wanted, f"{wanted} steps saved", TIMEOUT_S)
        assert self.row()["STATE"] == "RUNNING" and self.saved() < self.batches, "it is too fast to be interrupted"

    def pid(self, rank=0):
        return int((self.folder / f"pid-{rank}").read_text())

    def starts_anew(self, rank, pid):
        until(lambda: self.pid(rank) != pid, f"rank {rank} anew", TIMEOUT_S)

    # ---- interruptions ----

    def kill_rank(self, draw, is_heard=True):
        """Until it was started anew, where somebody hears of it."""
        rank = draw.randrange(self.size)
        pid = self.pid(rank)
        assert b"resume.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        os.kill(pid, signal.SIGKILL)
        if is_heard:
            self.starts_anew(rank, pid)

    def kill_in_save(self, draw):
        from save_points import SAVE_POINTS, TOLD
        rank = draw.randrange(self.size)
        pid = self.pid(rank)
        (self.folder / f"die-{rank}").write_text(draw.choice([*SAVE_POINTS, TOLD] if rank == 0 else SAVE_POINTS))
        self.starts_anew(rank, pid)

    def kill_controller(self, _draw):
        """Until the trainer has noticed, because it had something to say."""
        noticed = lambda: len(re.findall("^POST .* does not answer", (self.folder / "output.log").read_text(), re.M))
        before = noticed()
        os.kill(self.cluster.pid("controller"), signal.SIGKILL)
        until(lambda: noticed() > before, "the trainer notices", TIMEOUT_S)
        self.cluster.up()

    def kill_controller_and_rank(self, draw):
        """Nobody hears of the rank's end when it happens."""
        os.kill(self.cluster.pid("controller"), signal.SIGKILL)
        self.kill_rank(draw, is_heard=False)
        self.cluster.up()

    def kill_controller_and_agent(self, draw):
        self.kill_agent(draw, is_alone=False)
        os.kill(self.cluster.pid("controller"), signal.SIGKILL)
        self.cluster.up()

    def kill_agent(self, draw, is_alone=True):
        os.kill(self.cluster.pid(f"agent-node{draw.randint(1, 2 if self.size > 1 else 1)}"), signal.SIGKILL)
        if is_alone:
            self.cluster.up()

    def pause(self, _draw):
        self.cluster.run("muster", "experiment", "pause", self.experiment)
        until(lambda: self.row()["STATE"] == "WAITING", "the pause", TIMEOUT_S)
        self.cluster.run("muster", "experiment", "activate", self.experiment)

    def requeue(self, _draw):
        """As the queue does it that takes a job's nodes: it is asked to save a checkpoint, and waits again."""
        runs = int(self.row()["RUNS"])
        self.cluster.run("scontrol", "requeue", self.job)
        until(lambda: int(self.row()["RUNS"]) > runs, "another run", TIMEOUT_S)

    # ---- the end ----

    def ends(self):
        (self.folder / "hurry").write_text("")
        wait(self.cluster, self.experiment, timeout=TIMEOUT_S)

    def everything(self):
        """The last checkpoint and the metric series as the controller has them."""
        from muster.certify import contents
        last = checkpoints(self.web, self.trial)[-1]
        assert last["metadata"]["steps_completed"] == self.batches
        return {**contents.of_checkpoint(self.folder.parents[1] / last["uuid"]), **series(self.web, self.trial)}


def without_controller(base, batches, seed):
    """What the same script arrives at by itself, with a run folder and nothing else."""
    from muster.certify import contents
    run = base / "alone"
    run.mkdir()
    code = base / "c" / "work" / "code"
    # As the trial's own environment, which came from here: a variable may choose how sums are made (OPENBLAS_CORETYPE).
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                 "MUSTER_RUN_DIR": str(run), "MUSTER_SEED": str(seed), "MUSTER_HPARAMS": "{}", "MUSTER_SEARCHER_METRIC": "loss",
                 "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "resume.py", str(batches)], cwd=code, env=variables, capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done
    newest = max((run / "checkpoints").iterdir(), key=lambda path: (path / "trainer.json").stat().st_mtime_ns)
    numbers = {place: float(value) for place, value in contents.of_series(run).items()}  # as the controller keeps them
    return {**contents.of_checkpoint(newest), **numbers}


@pytest.fixture(autouse=True)
def _package(monkeypatch):
    pytest.importorskip("torch")
    if not TEXT.exists():
        pytest.skip(f"{TEXT} is not there")
    monkeypatch.syspath_prepend(str(PACKAGE))
    monkeypatch.syspath_prepend(str(PACKAGE / "tests"))
    print(f"EXACT_RESUME_SEED={SEED}")


def interrupt(trial, plan):
    """Each of the plan so many times, in a drawn order, and then to the end. The answer is how often the trial was started anew
    because it had failed."""
    draw = random.Random(SEED)
    order = [kind for kind, count in plan.items() for _ in range(count)]
    draw.shuffle(order)
    print("interruptions:", ", ".join(order), flush=True)
    for kind in order:
        trial.goes_on()
        getattr(trial, kind)(draw)
    trial.goes_on()
    trial.ends()
    return sum(kind in ("kill_rank", "kill_in_save", "kill_controller_and_rank") for kind in order)


def assert_equal(trial, expected):
    from muster.certify import contents
    found = trial.everything()
    apart = contents.differences(expected, found)
    assert not apart, apart[:5]
    assert contents.digest_of(found) == contents.digest_of(expected)
    show_figures("interrupted", values=len(found), sha256=contents.digest_of(found))
    trial.cluster.run("muster", "check", "--dir", trial.cluster.dir)


def test_one_rank_fifty_times(own_cluster):
    from muster.certify import contents
    cluster = own_cluster(nodes=1, cpus=2)
    web = Web(cluster)
    twin = Interrupted(cluster, web, batches=900)
    wait(cluster, twin.experiment, timeout=TIMEOUT_S)
    expected = twin.everything()
    for part in ("state.pt: models[0].2.weight", "state.pt: optimizers[0].state.0.exp_avg", "state.pt: schedulers[0].last_epoch",
                 "rank-0.pt: random.torch", "rank-0.pt: random.python[1]", "rank-0.pt: random.numpy[1]",
                 "trainer.json: position.epoch_batches", "training at 7: loss", "validation at 900: correct"):
        assert part in expected, sorted(expected)
    apart = contents.differences(without_controller(cluster.base, 900, (twin.folder / "seed").read_text()), expected)
    assert not apart, apart[:5]

    trial = Interrupted(cluster, web, batches=900, options=["--slow"])
    failures = interrupt(trial, {"kill_in_save": 11, "kill_controller": 7, "kill_controller_and_rank": 3, "kill_controller_and_agent": 2,
                                 "kill_rank": 9, "pause": 8, "requeue": 6, "kill_agent": 4})
    assert trial.row()["RUNS"] == str(1 + failures + 8 + 6), trial.row()
    assert web.get(f"trials/{trial.trial}")["trial"]["restarts"] == failures
    assert_equal(trial, expected)


def test_two_nodes_of_two_ranks_ten_times(own_cluster):
    cluster = own_cluster(nodes=2, cpus=2)
    web = Web(cluster)
    twin = Interrupted(cluster, web, 300, nodes=2, ranks_per_node=2)
    wait(cluster, twin.experiment, timeout=TIMEOUT_S)
    expected = twin.everything()
    assert {f"rank-{rank}.pt: random.torch" for rank in range(4)} <= set(expected), sorted(expected)
    trial = Interrupted(cluster, web, 300, nodes=2, ranks_per_node=2, options=["--slow"])
    failures = interrupt(trial, {"kill_in_save": 2, "kill_controller": 2, "kill_controller_and_rank": 1, "kill_rank": 1, "pause": 2,
                                 "requeue": 1, "kill_agent": 1})
    assert web.get(f"trials/{trial.trial}")["trial"]["restarts"] == failures
    assert_equal(trial, expected)
