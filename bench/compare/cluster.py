"""A cluster that is measured: four nodes on this machine, driven by the same commands whichever system it is.

`Cluster` is what both have in common; `slurm_cluster.py` and `muster_cluster.py` say how each is started and ended.
"""
import os
import pwd
import signal
import subprocess
import time
import uuid
from pathlib import Path

from compare.timing import time_command, wait_until

NODES = 4
CPUS_PER_NODE = 16          # pretended
MEMORY_MIB_PER_NODE = 8000  # pretended
MEMORY_MIB_PER_CPU = MEMORY_MIB_PER_NODE // CPUS_PER_NODE
ARRAY_MAX = 10_001
JOBS_MAX = 200_000

# Everything that a run starts carries this in its environment, and so does what that starts in turn: it is how the end
# of a run finds what was left behind without looking at anybody else's processes.
MARK = f"MUSTER_BENCH_RUN={uuid.uuid4()}"


def user_environment(folder):
    """What a user's shell would send along with a job: about 3 KB."""
    env = {f"VARIABLE_{i}": "v" * 36 for i in range(60)}
    env.update(HOME=str(folder), LC_ALL="C", TZ="UTC", USER="bench", SHELL="/bin/sh")
    name, value = MARK.split("=", 1)
    env[name] = value
    return env


def marked_processes():
    """Pids of this run's processes that still live."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if MARK.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def end_marked_processes():
    """SIGTERM, three seconds, SIGKILL, to exactly the processes of this run."""
    for number, timeout_s in ((signal.SIGTERM, 3), (signal.SIGKILL, 3)):
        for pid in marked_processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + timeout_s
        while marked_processes() and time.monotonic() < end:
            time.sleep(0.05)


class Cluster:
    """Commands against one cluster. `name` stands in tables."""
    name = ""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.work = self.folder / "work"
        self.work.mkdir(parents=True)
        self.conf = self.folder / "slurm.conf"

    # ---- to be given by each system ----
    def program(self, command):
        raise NotImplementedError

    def start(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def controller_pid(self):
        raise NotImplementedError

    # ---- in common ----
    def env(self):
        return {**user_environment(self.folder), "SLURM_CONF": str(self.conf), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def words(self, command, *options):
        return [self.program(command), *(str(o) for o in options)]

    def time(self, command, *options, output="/dev/null"):
        """Milliseconds of one call."""
        return time_command(self.words(command, *options), self.env(), output)

    def ask(self, command, *options, timeout=60):
        """The command's standard output. Fails when it does."""
        words = self.words(command, *options)
        done = subprocess.run(words, env=self.env(), cwd=self.work, timeout=timeout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}"
        return done.stdout

    def count_jobs(self, *options):
        """How many lines squeue shows, one for each element of an array."""
        return len(self.ask("squeue", "-h", "-r", "-o", "%i", *options).splitlines())

    def cancel_all(self, *options):
        """Every job, and waits until none is left."""
        self.ask("scancel", "-u", pwd.getpwuid(os.geteuid()).pw_name, *options)
        wait_until(lambda: self.count_jobs(*options) == 0, 60, f"{self.name}: jobs that were cancelled are gone")

    def controller_kib(self):
        """Memory of the controller's process that is in use: resident, in KiB."""
        for line in Path(f"/proc/{self.controller_pid()}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def wait_idle(self):
        wait_until(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").split() == [str(NODES)], 60,
                   f"{self.name}: {NODES} nodes are idle", pause=0.2)

    def fill(self):
        """A job on every node that takes all of it, so that others wait. The answer is its id."""
        job = self.ask("sbatch", "--parsable", f"-N{NODES}", "--exclusive", "--mem=0", "-o", "/dev/null", "--wrap", "sleep 3600").strip()
        wait_until(lambda: self.ask("squeue", "-h", "-j", job, "-o", "%t").strip() == "R", 30, f"{self.name}: job {job} runs")
        return job
