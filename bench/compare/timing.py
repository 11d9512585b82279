"""Numbers: a series of measurements of one thing, and how one command is timed."""
import os
import signal
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

TIMEOUT_S = 120  # one command


@dataclass
class Series:
    """Measurements of one thing. `unit` is ms, /s, KB or the like; of a rate, more is better."""
    unit: str
    values: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def is_rate(self):
        return "/" in self.unit

    def percentile(self, share):
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def text(self):
        """Median, and where the middle eight tenths lie."""
        if len(self.values) == 1:
            return f"{number(self.median)} {self.unit}"
        return f"{number(self.median)} {self.unit} ({number(self.percentile(0.1))} to {number(self.percentile(0.9))})"


def number(value):
    """Three digits that matter: 0.93, 12.4, 488, 26,300."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


@contextmanager
def deadline(seconds, what):
    """Bounds what stands in it. Not to be nested; main thread only."""
    def expire(_signal, _frame):
        raise TimeoutError(f"{what} took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Quiet:
    """Waits for the rest of the machine to be idle, up to `timeout_s` seconds in a whole run."""
    SAMPLE_S = 0.4
    BUSY_MAX = 0.12  # share of all CPUs

    def __init__(self, timeout_s):
        self.left_s = timeout_s
        self.begun = 0
        self.begun_busy = 0

    def wait(self):
        self.begun += 1
        begin = time.monotonic()
        while busy_share(self.SAMPLE_S) > self.BUSY_MAX:
            if time.monotonic() - begin > self.left_s:
                self.begun_busy += 1
                break
        self.left_s = max(0, self.left_s - (time.monotonic() - begin))

    def text(self):
        return f"{self.begun_busy} of {self.begun} measurements began while something else used the machine"


def busy_share(seconds):
    """The share of all CPUs' time that was not idle."""
    def read():
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    all_before, idle_before = read()
    time.sleep(seconds)
    all_after, idle_after = read()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def time_command(words, env, output="/dev/null"):
    """Milliseconds from before the program's start until it is gone. Fails when its exit status is not 0.

    posix_spawn, because a fork of this interpreter would cost as much as what is measured.
    """
    files = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    with deadline(TIMEOUT_S, " ".join(words)):
        begin = time.perf_counter_ns()
        pid = os.posix_spawn(words[0], words, env, file_actions=files)
        try:
            _, status = os.waitpid(pid, 0)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        end = time.perf_counter_ns()
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"{' '.join(words)}: exit status {code}"
    return (end - begin) / 1e6


def wait_until(is_true, seconds, what, pause=0.05):
    """Looks again and again until it is true; TimeoutError at the bound."""
    end = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {seconds} s")
        time.sleep(pause)
