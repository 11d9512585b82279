"""What the jobs of the tests here run: a module, so that clients pickle its functions by name."""
import os
import time
from pathlib import Path

WAIT_S = 120  # for what a test or another task is to do; then the job fails by itself


def add(left, right):
    return left + right


def square(number):
    return number * number


def fail(text):
    raise ValueError(text)


def rank():
    """Which task of which job this is, by Slurm's variables."""
    names = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURMD_NODENAME", "SLURM_NTASKS")
    return {name: os.environ.get(name) for name in names}


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.05)


def sleep_for_ever(mark):
    Path(mark).touch()
    wait_for(lambda: False, "nobody ended this job")


def meet(folder, name, count):
    """Waits until `count` of them run at once; the answer is the node."""
    Path(folder, name).touch()
    wait_for(lambda: len(list(Path(folder).iterdir())) >= count, f"{name} is alone")
    return os.environ["SLURMD_NODENAME"]


class Counter:
    """Counts to a number and writes each into a file, with the number of its run. Its first run waits at `hold` until it is
    ended; what it had counted is its checkpoint, from which the next run goes on."""

    def __init__(self, file, hold, counted=0):
        self.file = file
        self.hold = hold
        self.counted = counted

    def __call__(self, target):
        run = os.environ.get("SLURM_RESTART_COUNT", "0")
        while self.counted < target:
            self.counted += 1
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"run {run}: {self.counted}\n")
            if run == "0" and self.counted == self.hold:
                wait_for(lambda: False, "the signal did not come")
        return self.counted

    def checkpoint(self, target):
        import submitit
        return submitit.helpers.DelayedSubmission(Counter(self.file, self.hold, self.counted), target)
