"""End-to-end tests: real daemons on this machine, driven by the commands.

A cluster lives in a temporary folder and is ended with the test process, whatever happens: every daemon is started by
`muster up`, whose pid files name them, and is stopped in the fixture's last step or at exit.
"""
import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("MUSTER_BIN", ROOT / "build/release/bin"))


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=2, help="random seeds of the crash test")
    parser.addoption("--pause", type=int, default=10, help="seconds for which every daemon stands still")


def pytest_configure(config):
    # A shell without job control starts what is in the background with these ignored, and commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.addinivalue_line("markers", "root_only: needs root")
    config.addinivalue_line("markers", "long: takes long and comes out the same whoever runs it: tools/run_tests.sh runs it once")


def pytest_collection_modifyitems(config, items):
    if os.geteuid() == 0:
        return
    for item in items:
        if "root_only" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs root"))


def experiment_folder(root, experiment):
    """Where an experiment's trials have their folders, once there are any: the name ends in a mark that no other cluster's
    experiment has."""
    pattern = f"experiment-{experiment}-????????"
    found = list(Path(root).glob(pattern))
    assert len(found) <= 1, found
    return found[0] if found else Path(root) / pattern


def until(condition, what="it", timeout=60):
    """Waits until `condition()` is true and answers with its value. `what` is awaited: a text, or a call that says how far it is."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what() if callable(what) else what}: not within {timeout} s"
        time.sleep(0.05)
    return value


def written(path, what):
    """The whole lines of a file, once there are any: a shell makes it before it writes there."""
    return until(lambda: path.exists() and path.read_text().rpartition("\n")[0], what)


class Result:
    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def ends_told(text):
    """What srun says of its tasks' ends, by task: those that end together share a line, and which do is a matter of time."""
    told = {}
    for numbers, end in re.findall(r"^srun: error: \S+: tasks? ([\d,-]+): (.*)$", text, re.M):
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            told.update({task: end for task in range(int(first), int(last or first) + 1)})
    return told


class Cluster:
    """A cluster of `muster up` and the commands pointed at it."""

    def __init__(self, folder, nodes=2, gpus=0, cpus=4, conf=None):
        self.dir = Path(folder)
        self.work = self.dir / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.args = ["--dir", str(self.dir), "--nodes", str(nodes), "--gpus", str(gpus), "--cpus", str(cpus), "--memory", "4000"]
        self.conf = conf or {}

    def env(self, **more):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "SALLOC_"))}
        keep.update(SLURM_CONF=str(self.dir / "slurm.conf"), PATH=f"{BIN}:{os.environ['PATH']}", TZ="UTC", LC_ALL="C")
        keep.update(more)
        return keep

    def run(self, *words, check=True, timeout=60, stdin=None, cwd=None, env=None):
        completed = subprocess.run([str(w) for w in words], env=self.env(**(env or {})), cwd=cwd or self.work, timeout=timeout,
                                   input=stdin, capture_output=True, text=True)
        result = Result(completed)
        if check:
            assert result.code == 0, (words, result)
        return result

    def popen(self, *words, **options):
        return subprocess.Popen([str(w) for w in words], env=self.env(), cwd=self.work, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.PIPE, **options)

    def up(self):
        if self.conf and not (self.dir / "slurm.conf").exists():
            self.run("muster", "up", *self.args, "--detach")
            self.down()
            conf = self.dir / "slurm.conf"
            text = conf.read_text()
            for key, value in self.conf.items():
                lines = [line for line in text.splitlines() if not line.startswith(f"{key}=")]
                text = "\n".join(lines + [f"{key}={value}"]) + "\n"
            conf.write_text(text)
        self.run("muster", "up", *self.args, "--detach")
        return self

    def down(self):
        subprocess.run([str(BIN / "muster"), "down", "--dir", str(self.dir)], capture_output=True, timeout=60)

    def pid(self, name):
        return int((self.dir / f"{name}.pid").read_text())

    def sbatch(self, script, *options, **kw):
        """Submits a script given as text; the answer is the job's id."""
        text = script if script.startswith("#!") else "#!/bin/sh\n" + script
        out = self.run("sbatch", "--parsable", *options, stdin=text, **kw).out
        return int(out.strip().split(";")[0])

    def job(self, job, *fields):
        """One line of sacct for the job itself, as a dict."""
        fields = fields or ("JobID", "State", "ExitCode")
        out = self.run("sacct", "-X", "-n", "-P", "-j", job, "-o", ",".join(fields)).out
        rows = [dict(zip(fields, line.split("|"))) for line in out.splitlines()]
        return rows[-1] if rows else None

    def wait_state(self, job, states, timeout=30):
        """Until the job is in one of the states (as sacct names them); the answer is the row."""
        states = {states} if isinstance(states, str) else set(states)
        deadline = time.monotonic() + timeout
        row = None
        while time.monotonic() < deadline:
            row = self.job(job)
            if row and row["State"].split()[0] in states:
                return row
            time.sleep(0.05)
        raise AssertionError(f"job {job} is {row}, not {states}; logs in {self.dir}/log")

    def wait_ended(self, job, timeout=60):
        return self.wait_state(job, {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}, timeout)


_open = []


def _close_all():
    while _open:
        _open.pop().down()


atexit.register(_close_all)


def make_cluster(**options):
    base = Path(tempfile.mkdtemp(prefix="muster-e2e."))
    os.chmod(base, 0o755)
    cluster = Cluster(base / "c", **options)
    os.chmod(cluster.work, 0o777)
    _open.append(cluster)
    cluster.base = base
    return cluster.up()


def supervisors(cluster):
    """The processes that supervise steps in the cluster's folder, by pid."""
    found = {}
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_text().split("\0")
        except OSError:  # none, or gone by now
            continue
        if words[0].endswith("/muster-stepd") and any(word.startswith(f"{cluster.dir}/") for word in words):
            found[int(process.name)] = words
    return found


def end_cluster(cluster, timeout=10):
    """Ends it and removes its folder; a supervisor that outlives its cluster is a fault of ours."""
    cluster.down()
    if cluster in _open:
        _open.remove(cluster)
    deadline = time.monotonic() + timeout
    while supervisors(cluster) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = supervisors(cluster)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(cluster.base, ignore_errors=True)
    assert not left, f"supervisors outlived their cluster: {left}"


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of four CPUs with two pretended GPUs, shared by the tests of a file."""
    made = make_cluster(nodes=2, gpus=2, cpus=4, conf={"KillWait": "2", "MinJobAge": "300"})
    yield made
    end_cluster(made)


@pytest.fixture
def own_cluster():
    """A factory of clusters that end with the test."""
    made = []

    def make(**options):
        made.append(make_cluster(**options))
        return made[-1]

    yield make
    for one in made:
        end_cluster(one)
