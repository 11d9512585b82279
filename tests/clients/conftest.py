"""The unmodified determined package against a cluster of ours: `det`, the Core API and PyTorchTrial.

    $(tools/clients_env.sh)/bin/python -m pytest tests/clients -q -p no:cacheprovider

The interpreter is that of the virtual environment, for the package's own bindings read every reply. Each `det` goes through a
proxy that records; its requests are compared with golden/<name>.txt, which MUSTER_UPDATE_GOLDEN=1 writes anew. Trials need
mount namespaces, so they need root. `--master URL` takes a cluster that runs already, with DET_USER and DET_USER_TOKEN.
"""
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recording import RecordingProxy, Replies, request_log

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODEL = HERE / "model"
DET = Path(sys.executable).with_name("det")
TIMEOUT_S = 240  # for a training with torch, on a busy machine
NOT_THERE_YET = []  # method, path, what its body holds

_spec = importlib.util.spec_from_file_location("muster_e2e", HERE.parent / "e2e" / "conftest.py")
_e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_e2e)


def pytest_addoption(parser):
    parser.addoption("--master", help="the URL of a running cluster, instead of one of the tests' own")


def pytest_ignore_collect(collection_path, config):
    """Nothing here means anything without the package."""
    if importlib.util.find_spec("determined") is None:
        pytest.exit("tests/clients: run them with $(tools/clients_env.sh)/bin/python -m pytest", returncode=2)


class Served:
    """A cluster's REST API: where it is, and who one is to it."""

    def __init__(self, variables, folder):
        self.url = variables["DET_MASTER"]
        self.user = variables["DET_USER"]
        self.token = variables["DET_USER_TOKEN"]
        self.storage = folder / "checkpoints"  # and each trial's folder
        self.storage.mkdir(exist_ok=True)
        self.storage.chmod(0o777)
        self.work = folder


def _variables(cluster):
    """What `eval "$(muster env --dir D)"` leaves in the environment."""
    shown = subprocess.run(["sh", "-ec", f'eval "$(muster env --dir {cluster.dir})"; env'], env=cluster.env(), check=True,
                           capture_output=True, text=True).stdout
    found = dict(line.split("=", 1) for line in shown.splitlines() if line.startswith("DET_"))
    missing = {"DET_MASTER", "DET_USER", "DET_USER_TOKEN"} - set(found)
    assert not missing, f"muster env does not tell {missing}"
    return found


@pytest.fixture(scope="session")
def served(request, tmp_path_factory):
    """Two nodes of four CPUs, one slot each CPU; shared by all tests."""
    url = request.config.getoption("--master")
    if url:
        yield Served({**os.environ, "DET_MASTER": url}, tmp_path_factory.mktemp("served"))
        return
    cluster = _e2e.make_cluster(nodes=2, gpus=0, cpus=4)
    try:
        yield Served(_variables(cluster), cluster.work)
    finally:
        _e2e.end_cluster(cluster)


class Ran:
    """One run of det: exit code, output, and the exchanges it had."""

    def __init__(self, completed, exchanges):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr
        self.exchanges = exchanges

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n--- requests\n{request_log(self.exchanges)}"

    def rows(self):
        """The first table of its output: by its heads, the cells; what a cell holds on further lines follows after a space."""
        lines = self.out.splitlines()
        ruler = next(number for number, line in enumerate(lines) if re.fullmatch(r"[-+]+", line.strip()) and "-" in line)
        heads = [head.strip() for head in lines[ruler - 1].split("|")]
        found = []
        for line in lines[ruler + 1:]:
            if "|" not in line and len(heads) > 1:
                break
            cells = dict(zip(heads, (cell.strip() for cell in line.split("|"))))
            if found and not cells[heads[0]]:
                found[-1] = {head: f"{found[-1][head]} {cells[head]}".strip() for head in heads}
            else:
                found.append(cells)
        return found


@pytest.fixture(scope="session")
def replies():
    from determined.common.api import bindings
    return Replies(bindings)


@pytest.fixture(scope="session")
def det(served, replies, tmp_path_factory):
    """det("experiment", "list", golden="experiment-list", code=0) runs it; every reply is read by the bindings."""
    proxy = RecordingProxy(served.url)
    home = tmp_path_factory.mktemp("home")  # no cached logins
    env = {name: value for name, value in os.environ.items() if not name.startswith(("DET_", "SLURM_", "MUSTER_"))}
    env.update(DET_MASTER=proxy.url, DET_USER=served.user, DET_USER_TOKEN=served.token, HOME=str(home), TZ="UTC", COLUMNS="200")

    def run(*words, golden=None, code=0, timeout=TIMEOUT_S, stdin=None, variables=None):
        proxy.exchanges.clear()
        completed = subprocess.run([str(DET), *map(str, words)], env={**env, **(variables or {})}, cwd=served.work, input=stdin,
                                   timeout=timeout, capture_output=True, text=True, check=False)
        ran = Ran(completed, list(proxy.exchanges))
        for exchange in ran.exchanges:
            replies.check(exchange)
            check_whether_there(exchange)
        assert code is None or ran.code == code, (words, ran)
        if golden is not None:
            check_golden(golden, "det " + golden.replace("-", " "), ran.exchanges)
        return ran

    yield run
    proxy.close()


def check_whether_there(exchange):
    """A call that the cluster does not serve yet is expected to be refused as such; one that it serves is off the list."""
    call = next((call for call in NOT_THERE_YET if exchange.method == call[0] and re.fullmatch(call[1], exchange.path)
                 and call[2] in exchange.body.decode()), None)
    if exchange.status == 501:
        assert call is not None, f"{exchange.method} {exchange.path} is not served: {exchange.reply.decode()}"
        pytest.xfail(f"{call[0]} {call[1]} {call[2]} is not served yet")
    assert call is None, f"{exchange.method} {exchange.path} is served: take it off NOT_THERE_YET"


def check_golden(name, title, exchanges):
    file = HERE / "golden" / f"{name}.txt"
    text = request_log(exchanges)
    if os.environ.get("MUSTER_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"{file} is not there; MUSTER_UPDATE_GOLDEN=1 writes it"
    assert text == file.read_text(), f"{title}: its requests are not those of {file.name}"


def until(condition, what, timeout=TIMEOUT_S):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {timeout} s")


@pytest.fixture
def sdk(served, monkeypatch, tmp_path):
    """The package's own client, logged in, without cached logins."""
    from determined.experimental import client
    for name, value in (("DET_USER", served.user), ("DET_USER_TOKEN", served.token), ("HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    return client.Determined(master=served.url)


class Experiments:
    """Experiments of the tests' code, made and watched through det."""

    def __init__(self, det, served):
        self._det = det
        self._served = served

    def configuration(self, name, entrypoint, **more):
        """Text of YAML, which JSON is: trials see the virtual environment's python3 first, and write into the tests' storage."""
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        config = {"name": name, "entrypoint": entrypoint, "max_restarts": 0, "hyperparameters": {},
                  "searcher": {"name": "single", "metric": "validation_loss", "smaller_is_better": True},
                  "checkpoint_storage": {"type": "shared_fs", "host_path": str(self._served.storage), "save_trial_latest": 1,
                                         "save_trial_best": 1, "save_experiment_best": 0},
                  "environment": {"environment_variables": [f"PATH={path}", "OMP_NUM_THREADS=1"]}, **more}
        file = self._served.work / f"{name}.yaml"
        file.write_text(json.dumps(config, indent=1))
        return file

    def create(self, name, entrypoint, *options, golden=None, code=MODEL, **more):
        made = self._det("experiment", "create", self.configuration(name, entrypoint, **more), code, *options, golden=golden)
        return int(re.search(r"Created experiment (\d+)", made.out).group(1))

    def describe(self, experiment):
        (found,) = json.loads(self._det("experiment", "describe", experiment, "--json").out)
        return found["experiment"]

    def wait(self, experiment, state="COMPLETED"):
        self._det("experiment", "wait", experiment, "--polling-interval", 1, code=None)
        found = self.describe(experiment)
        if found["state"] != f"STATE_{state}":
            printed = [self.printed(experiment, trial) for trial in self.trials(experiment)]
            raise AssertionError(f"{found['state']}, not {state}: {found.get('detail')}\n" + "\n".join(printed))
        return found

    def trials(self, experiment):
        """Their ids, least first."""
        return sorted(int(row["Trial ID"]) for row in self._det("experiment", "list-trials", experiment).rows())

    def folder(self, experiment, trial):
        pattern = f"experiment-{experiment}-????????"  # the mark of its cluster
        return next(self._served.storage.glob(pattern), self._served.storage / pattern) / f"trial-{trial}"

    def printed(self, experiment, trial):
        """What the trial wrote, from its file, for tests that are not of the log service."""
        return (self.folder(experiment, trial) / "output.log").read_text()

    def trial(self, trial):
        return json.loads(self._det("trial", "describe", trial, "--json").out)["trial"]

    def workloads(self, trial, kind):
        """Of a trial: training, validation or checkpoint, in the order of their steps."""
        described = json.loads(self._det("trial", "describe", trial, "--json").out)
        found = [each[kind] for each in described["workloads"] if each.get(kind)]
        return sorted(found, key=lambda each: each["totalBatches"])


@pytest.fixture(scope="session")
def experiments(det, served):
    return Experiments(det, served)
