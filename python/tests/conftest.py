"""What the tests of the Python package have in common: a clean environment, and scripts run as processes of their own."""
import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE))
TIMEOUT_S = 120  # one script, on a busy machine
_CONTRACT = ("MUSTER_", "DET_", "SLURM_", "OMPI_", "PMIX_", "TORCHELASTIC_")
_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR",
             "MASTER_PORT")


def is_of_contract(name):
    return name.startswith(_CONTRACT) or name in _LAUNCHER


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in filter(is_of_contract, list(os.environ)):
        monkeypatch.delenv(name)


class Script:
    """A Python script in a process of its own, which is killed with the test."""

    def __init__(self, code, variables):
        env = {name: value for name, value in os.environ.items() if not is_of_contract(name)}
        env.update({"PYTHONPATH": str(PACKAGE), **{name: str(value) for name, value in variables.items()}})
        words = [sys.executable, "-c", textwrap.dedent(code)] if "\n" in code else [sys.executable, *code.split()]
        self.process = subprocess.Popen(words, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self._bound = threading.Timer(TIMEOUT_S, self.process.kill)  # so that reading its output ends, whatever it does
        self._bound.daemon = True
        self._bound.start()

    def line(self):
        """The next line of its output, without the line feed; "" at its end."""
        return self.process.stdout.readline().rstrip("\n")

    def wait_for(self, text):
        """Reads lines until one begins with the text; the answer is that line."""
        while True:
            line = self.process.stdout.readline()
            assert line, f"the script ended before {text!r}: {self.process.stderr.read()}"
            if line.startswith(text):
                return line.rstrip("\n")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self._bound.cancel()
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def end(self, code=0):
        """Waits for its end; the answer is (stdout, stderr). `code` None is any."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        assert code is None or self.process.returncode == code, (self.process.returncode, out, err)
        return out, err


@pytest.fixture
def scripts():
    """scripts(code, NAME=value, ...) starts one."""
    begun = []

    def begin(code, **variables):
        begun.append(Script(code, variables))
        return begun[-1]

    yield begin
    for script in begun:
        script.close()


def rank_variables(size, local_size=None):
    """What torchrun would say to each of `size` ranks on nodes of `local_size`; one launch."""
    local_size = local_size or size
    launch = str(uuid.uuid4())
    return [{"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % local_size, "LOCAL_WORLD_SIZE": local_size,
             "GROUP_RANK": rank // local_size, "GROUP_WORLD_SIZE": size // local_size, "MASTER_ADDR": "127.0.0.1",
             "TORCHELASTIC_RUN_ID": launch, "MUSTER_AUTHKEY": launch} for rank in range(size)]


@pytest.fixture
def ranks(scripts):
    """ranks(code, size, ...) starts one process per rank; each may build its context from the environment."""
    def begin(code, size, local_size=None, **variables):
        return [scripts(code, **{**each, **variables}) for each in rank_variables(size, local_size)]
    return begin


def wait_until(is_true, what, seconds=30):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"{what}: not after {seconds} s"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def memory_folders():
    """memory_folders() is a new folder in memory where the system has such, because hundreds of fsyncs are slow elsewhere.

    What a killed process leaves behind is the same.
    """
    with contextlib.ExitStack() as folders:
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        yield lambda: Path(folders.enter_context(tempfile.TemporaryDirectory(prefix="muster-test-", dir=parent)))


@pytest.fixture
def memory_path(memory_folders):
    return memory_folders()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with 1 MiB of room."""
    if os.geteuid() != 0:
        pytest.skip("a small disk needs root, to mount a tmpfs")
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk needs mount: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
