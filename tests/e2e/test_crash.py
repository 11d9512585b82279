"""SIGKILL of controller and agents at random moments of a mixed load.

The checker trusts nothing of Muster's but the acknowledgements that its client saw and the lines that the tasks append
to a file of their own: every acknowledged job ran, once per attempt, with its own exit code; no CPU set was in two hands.
"""
import os
import random
import signal
import time
from pathlib import Path

from conftest import end_cluster, make_cluster

TASK = """#!/bin/sh
me="$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}_${SLURM_ARRAY_TASK_ID:-x} $SLURMD_NODENAME gpu=${CUDA_VISIBLE_DEVICES:-none}"
echo "start $me $(cut -d' ' -f1 /proc/uptime)" >> ledger
sleep $1
echo "end $me $(cut -d' ' -f1 /proc/uptime)" >> ledger
exit $2
"""


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(1, metafunc.config.getoption("--seeds") + 1))


class Load:
    """What was asked for and acknowledged."""

    def __init__(self, cluster, rng):
        self.cluster = cluster
        self.rng = rng
        self.script = Path(cluster.work) / "task.sh"
        self.script.write_text(TASK)
        self.expected = {}  # job id: (exit code, elements or None)

    def submit(self):
        code = self.rng.choice([0, 0, 0, 3, 7])
        elements = self.rng.choice([None, None, 3])
        options = ["-o", "/dev/null"] + ([f"--array=0-{elements - 1}"] if elements else [])
        options += self.rng.choice([[], ["-c2"], ["--gres=gpu:1"], ["--gres=gpu:2"]])
        out = self.cluster.run("sbatch", "--parsable", *options, self.script, f"{self.rng.uniform(0.1, 1.2):.2f}", code).out
        self.expected[int(out)] = (code, elements)

    def rows(self):
        ids = ",".join(str(job) for job in self.expected)
        out = self.cluster.run("sacct", "-X", "-n", "-P", "-j", ids, "-o", "JobID,State,ExitCode").out
        return {r[0]: (r[1], r[2]) for r in (line.split("|") for line in out.splitlines())}

    def names(self):
        for job, (code, elements) in self.expected.items():
            for i in range(elements or 1):
                yield (f"{job}_{i}" if elements else str(job)), code


def kill_something(cluster, rng):
    for name in rng.choice([["controller"], ["agent-node1"], ["agent-node2"], ["controller", "agent-node1"]]):
        os.kill(cluster.pid(name), signal.SIGKILL)
    time.sleep(rng.uniform(0, 0.4))
    cluster.up()


def check_ledger(cluster):
    starts, open_gpus = {}, {}
    events = sorted((line.split() for line in (cluster.work / "ledger").read_text().splitlines()), key=lambda w: float(w[6]))
    for what, job, attempt, element, node, gpu, _ in events:
        key = (job, attempt, element)
        if what == "start":
            starts[key] = starts.get(key, 0) + 1
        for index in [] if gpu == "gpu=none" else gpu[4:].split(","):
            holder = open_gpus.get((node, index))
            if what == "start":
                assert holder is None, f"GPU {index} of {node} in the hands of {holder} and {key}"
                open_gpus[node, index] = key
            else:
                open_gpus.pop((node, index), None)
    twice = {key: n for key, n in starts.items() if n != 1}
    assert not twice, f"ran more than once: {twice}"
    return {element.removesuffix("_x") for _, _, element in starts}


def test_nothing_acknowledged_is_lost(seed):
    rng = random.Random(seed)
    print(f"seed {seed}")
    cluster = make_cluster(nodes=2, gpus=2, cpus=4)
    try:
        load = Load(cluster, rng)
        for _ in range(3):
            for _ in range(rng.randint(2, 5)):
                load.submit()
            time.sleep(rng.uniform(0, 0.8))
            kill_something(cluster, rng)
        deadline = time.monotonic() + 60
        ended = {"COMPLETED", "FAILED"}
        while time.monotonic() < deadline:
            rows = load.rows()
            if all(rows.get(name, ("", ""))[0] in ended for name, _ in load.names()):
                break
            time.sleep(0.2)
        for name, code in load.names():
            assert rows.get(name) == ("FAILED" if code else "COMPLETED", f"{code}:0"), (seed, name, code, rows.get(name))
        assert check_ledger(cluster) == {name for name, _ in load.names()}
        cluster.run("muster", "check", "--dir", cluster.dir)
    finally:
        end_cluster(cluster)
