"""Programs that drive Slurm, as their users install them, against a cluster of ours: each runs a small workload to its end.

    $(tools/slurm_clients_env.sh)/bin/python -m pytest tests/slurm_clients -q -p no:cacheprovider -n 3 --dist loadfile

The interpreter is that of the virtual environment; a test whose program is not there is skipped by name. What jobs run of ours
lies in workloads.py, which they import by PYTHONPATH. Each file has a cluster of its own.
"""
import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LAST_S = 180  # for one workload, on a busy machine

_spec = importlib.util.spec_from_file_location("muster_e2e", HERE.parent / "e2e" / "conftest.py")
_e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_e2e)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of four CPUs. The clients of the file find it by this process's environment, as they would on a login node."""
    made = _e2e.make_cluster(nodes=2, gpus=0, cpus=4, conf={"KillWait": "5", "MinJobAge": "300"})
    before = dict(os.environ)
    inside = made.env(PYTHONPATH=str(HERE), OMP_NUM_THREADS="1")
    inside["PATH"] = f"{Path(sys.executable).parent}:{inside['PATH']}"  # the virtual environment is active
    os.environ.clear()
    os.environ.update(inside)
    yield made
    os.environ.clear()
    os.environ.update(before)
    _e2e.end_cluster(made, timeout=30)


@pytest.fixture
def folder(cluster, request, monkeypatch):
    """The test's own folder, and where it runs."""
    made = cluster.work / request.node.name.replace("[", "-").replace("]", "")
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def until():
    """until(condition, what): waits for it, as long as a workload may last."""
    def wait(condition, what, timeout=LAST_S):
        return _e2e.until(condition, what, timeout)
    return wait


def texts(folder, pattern):
    """What the files below a folder say, for the message of a test that fails."""
    return "\n".join(f"== {file}\n{file.read_text(errors='replace')}" for file in sorted(Path(folder).rglob(pattern)) if file.is_file())


@pytest.fixture
def run(cluster):
    """run(words…): a client's own command, which has to succeed; the answer is what it printed."""
    def command(*words, told="*.log", cwd=None, env=None):
        ran = cluster.run(*words, check=False, timeout=LAST_S, cwd=cwd or os.getcwd(), env=env)
        assert ran.code == 0, f"{words}: {ran}\n{texts(cwd or os.getcwd(), told)}"
        return ran
    return command
