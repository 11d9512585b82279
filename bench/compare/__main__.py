"""`make bench`: starts the clusters, measures, prints the table, and takes everything away again, also when it fails or
is interrupted. Exit status: 0 measured, whether budgets are met or not; 1 a result was wrong; 130 interrupted.
"""
import argparse
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compare import alone, both
from compare.cluster import end_marked_processes
from compare.muster_cluster import MusterCluster
from compare.report import Report, commit, machine
from compare.slurm_cluster import SlurmCluster, missing_programs
from compare.timing import Quiet

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Size:
    """How much of everything. `quick` shows that the measurements work; its figures mean nothing."""
    calls: int = 200
    sruns: int = 100
    array: int = 1000
    queue: int = 10_000
    rounds: int = 3
    submissions: int = 20_000
    pollers: tuple = (0, 200, 2000)
    seconds: int = 15
    beside: tuple = (("cancel", (100_000,), "100,000 jobs cancelled at once"),
                     ("test-only", (10_000, 10_000), "`sbatch --test-only` in a loop at 10,000 nodes"),
                     ("connections", (10_000, 8000), "8,000 connections of one user"))
    plan: tuple = ()
    search: tuple = ()
    metrics: tuple = ()
    logs: tuple = ()
    simulated: int = 0
    quiet: Quiet = None

    @classmethod
    def quick(cls):
        return cls(quiet=Quiet(0), calls=10, sruns=5, array=50, queue=100, rounds=1, submissions=200, pollers=(0, 10), seconds=1,
                   beside=(("cancel", (500,), "500 jobs cancelled at once"),),
                   plan=("--nodes", 200, "--jobs", 2000, "--running", 600, "--rounds", 3), search=("--trials", 60, "--rounds", 1),
                   metrics=("--trials", 50, "--reports", 5000, "--points", 20_000), logs=("--mb", 6), simulated=2000)


class Interrupted(Exception):
    pass


def raise_interrupted(_signal, _frame):
    raise Interrupted


PARTS_OF_BOTH = {
    "calls": lambda clusters, report, size, build: both.calls(clusters, report, size),
    "srun": lambda clusters, report, size, build: both.srun(clusters, report, size),
    "array": both.array,
    "queue": lambda clusters, report, size, build: both.full_queue(clusters, report, size),
}


def measure_both(names, folder, build, report, size, has_slurm):
    clusters = ([SlurmCluster(folder / "slurm")] if has_slurm else []) + [MusterCluster(folder / "both", build / "bin")]
    try:
        for cluster in clusters:
            cluster.start()
        both.settle(clusters)
        for name in names:
            PARTS_OF_BOTH[name](clusters, report, size, build)
    finally:
        for cluster in clusters:
            cluster.stop()


def measure_alone(names, folder, build, report, size):
    """Each with a cluster of its own: jobs that have ended stay in memory for a while and would be the next one's load."""
    for name in names:
        cluster = MusterCluster(folder / name, build / "bin")
        try:
            if name in alone.NEED_CLUSTER:
                cluster.start()
            alone.PARTS[name](cluster, report, size, build)
        finally:
            cluster.stop()


def chosen(only, parts):
    return [name for name in parts if not only or name in only]


def measure(options, folder, report):
    size = Size.quick() if options.quick else Size(quiet=Quiet(options.idle_timeout))
    missing = missing_programs()
    has_slurm = not options.no_slurm and not missing
    if missing and not options.no_slurm:
        print(f"Slurm is not here ({', '.join(missing)} missing): measuring Muster alone")
    names = chosen(options.only, PARTS_OF_BOTH)
    if names:
        measure_both(names, folder, options.build, report, size, has_slurm)
    names = chosen(options.only, alone.PARTS)
    if names:
        measure_alone(names, folder, options.build, report, size)
    report.note(size.quiet.text())


def parse(words):
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, measures nothing")
    parser.add_argument("--no-slurm", action="store_true", help="Muster alone")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[],
                        help="some of: " + ",".join([*PARTS_OF_BOTH, *alone.PARTS]))
    parser.add_argument("--idle-timeout", type=int, default=60, metavar="SECONDS",
                        help="how long, in all, to wait for the rest of the machine to be idle before measurements (60)")
    parser.add_argument("--markdown", type=Path, help="writes the table there too")
    options = parser.parse_args(words)
    unknown = set(options.only) - {*PARTS_OF_BOTH, *alone.PARTS}
    if unknown:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    return options


def clean_up(folder):
    """Nothing may interrupt this."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    end_marked_processes()
    shutil.rmtree(folder, ignore_errors=True)


def main(words=None):
    options = parse(words)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, raise_interrupted)
    folder = Path(tempfile.mkdtemp(prefix="muster-bench."))
    folder.chmod(0o755)
    report = Report()
    print(f"{machine()}; commit {commit(ROOT) or 'unknown'}")
    try:
        measure(options, folder, report)
    except (AssertionError, TimeoutError) as wrong:
        print(f"bench: {wrong}", file=sys.stderr)
        return 1
    except Interrupted:
        print("bench: interrupted", file=sys.stderr)
        return 130
    finally:
        clean_up(folder)
    table = f"`make bench`, {machine()}, commit {commit(ROOT) or 'unknown'}\n\n{report.markdown()}\n"
    print("\n" + table)
    print(f"budgets missed: {', '.join(report.missed) or 'none'}")
    if options.markdown:
        options.markdown.write_text(table, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
