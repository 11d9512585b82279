"""What users of either system wait for, measured on Slurm and on Muster by turns. Each function asserts its result
before it keeps the time. Without Slurm the list of clusters has one entry, and the tables have no second column.
"""
import os
import pwd
import subprocess
import time

from compare.cluster import CPUS_PER_NODE, NODES
from compare.report import Budget, Row
from compare.timing import Series, deadline, time_command, wait_until

LANES = 8  # concurrent clients


def by_turns(clusters, rounds, unit, measure, quiet):
    """One series for each cluster; `measure(cluster)` gives one value or a list. The first of a round changes."""
    series = {cluster.name: Series(unit) for cluster in clusters}
    for number in range(rounds):
        for cluster in clusters if number % 2 == 0 else reversed(clusters):
            quiet.wait()
            got = measure(cluster)
            series[cluster.name].values += got if isinstance(got, list) else [got]
    return series


def row(name, imitates, series, budget=None):
    return Row(name, imitates, series["Muster"], series.get("Slurm"), budget)


def user_name():
    return pwd.getpwuid(os.geteuid()).pw_name


# ---- one call ---------------------------------------------------------------------------------------------------------
CALLS = (
    (("squeue",), "watching an empty queue"),
    (("sbatch", "-H", "-o", "/dev/null", "--wrap", "true"), "submitting one held job by hand"),
    (("sinfo",), "looking for free nodes"),
    (("scontrol", "ping"), "a health check"),
)


def calls(clusters, report, size):
    report.section("one command, from before its start until it is gone")
    size.quiet.wait()
    floor = Series("ms", [time_command(["/bin/true"], clusters[0].env()) for _ in range(size.calls)])
    report.note(f"`/bin/true` started the same way: {floor.text()}")
    for words, imitates in CALLS:
        assert all(cluster.ask(*words) is not None for cluster in clusters)
        series = by_turns(clusters, 5, "ms", lambda cluster, words=words: [cluster.time(*words) for _ in range(size.calls // 5)],
                          size.quiet)
        if words[0] == "sbatch":
            for cluster in clusters:
                assert cluster.count_jobs("-t", "PENDING") == size.calls // 5 * 5 + 1, "every submission is in the queue"
                cluster.cancel_all()
        name = " ".join(words[:2]) if words[0] in ("scontrol",) else words[0]
        report.add(row(f"one `{name}`", imitates, series, Budget(3, "≤ 3 ms")))


# ---- srun -------------------------------------------------------------------------------------------------------------
def srun(clusters, report, size):
    report.section("srun")
    for cluster in clusters:
        cluster.wait_idle()
        assert cluster.ask("srun", "-n1", "echo", "here") == "here\n"

    def measure(cluster):
        times = []
        for _ in range(size.sruns // 5):
            times.append(cluster.time("srun", "-n1", "true"))
            time.sleep(0.02)  # the cluster is free again: the step before has ended on its node too
        return times

    report.add(row("`srun -n1 true`, free cluster", "an interactive command", by_turns(clusters, 5, "ms", measure, size.quiet),
                   Budget(6, "≤ 6 ms")))


# ---- batch throughput --------------------------------------------------------------------------------------------------
def run_array(cluster, count):
    """Jobs a second of an array of no-ops, from before sbatch until squeue shows none of it."""
    cluster.wait_idle()
    begin = time.monotonic()
    job = cluster.ask("sbatch", "--parsable", f"--array=0-{count - 1}", "--mem=1", "-o", "/dev/null", "--wrap", "true").strip()
    wait_until(lambda: cluster.ask("squeue", "-h", "-j", job, "-o", "%i") == "", 60 + count / 20, f"{cluster.name}: array {job}", 0.02)
    seconds = time.monotonic() - begin
    completed = cluster.count_jobs("-t", "COMPLETED", "-j", job)
    assert completed == count, f"{cluster.name}: {completed} of {count} jobs of array {job} ended COMPLETED"
    return count / seconds


def fork_ceiling(build, count):
    """The last rung of bench/fork_ceiling, and the whole ladder as text."""
    done = subprocess.run([str(build / "bin/fork_ceiling"), "--jobs", str(count), "--nodes", str(NODES), "--slots", str(CPUS_PER_NODE),
                           "--rounds", "3"], capture_output=True, text=True, timeout=300, check=True)
    ladder = [line.rsplit("jobs/s", 1)[0].rsplit(None, 1) for line in done.stdout.splitlines()]
    return float(ladder[-1][1]), ", ".join(f"{name.strip()} {rate}" for name, rate in ladder)


def array(clusters, report, size, build):
    report.section(f"an array of {size.array:,} no-op batch jobs, end to end")
    ceilings = Series("/s")
    ladder = ""

    def measure(cluster):
        nonlocal ladder
        if cluster is clusters[-1]:  # the last, so that with Slurm and without it there is one a round
            ceiling, ladder = fork_ceiling(build, size.array)
            ceilings.values.append(ceiling)
        return run_array(cluster, size.array)

    series = by_turns(clusters, size.rounds, "/s", measure, size.quiet)
    share = 100 * series["Muster"].median / ceilings.median
    limit = min(700, 0.8 * ceilings.median)
    report.add(row(f"array of {size.array:,} no-op batch jobs", "a parameter sweep of tiny tasks", series,
                   Budget(limit, "≥ 700/s or 80 % of the ceiling", is_most=False)))
    report.note(f"`fork_ceiling` in the same run: {ceilings.text()}; the array reaches {share:.0f} % of it. Its ladder, jobs/s: {ladder}")


# ---- a full queue ------------------------------------------------------------------------------------------------------
def write_scripts(folder, count):
    """`count` distinct scripts of 2 KB."""
    folder.mkdir()
    padding = "#" * 1900 + "\n"
    for i in range(count):
        (folder / f"job{i}.sh").write_text(f"#!/bin/sh\n#SBATCH -J job{i}\n# {i}\n{padding}exit 0\n", encoding="ascii")


def submit_files(cluster, scripts):
    """Seconds that 8 concurrent sbatch processes take for all of these files. xargs, because it is small and forks fast."""
    words = ["/usr/bin/xargs", "-P", str(LANES), "-n", "1", cluster.program("sbatch"), "--quiet", "--mem=1", "-o", "/dev/null"]
    begin = time.monotonic()
    done = subprocess.run(words, input="\n".join(str(s) for s in scripts), env=cluster.env(), cwd=cluster.work, timeout=600,
                          text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - begin
    assert done.returncode == 0, f"{cluster.name}: sbatch: {done.stderr[-500:]}"
    return seconds


def queue_up(clusters, size, scripts):
    """Fills the queues block by block, by turns; the answer is the rates of the blocks."""
    block = max(1, size.queue // 10)
    series = {cluster.name: Series("/s") for cluster in clusters}
    for first in range(0, size.queue, block):
        for cluster in clusters:
            size.quiet.wait()
            part = scripts[first:first + block]
            series[cluster.name].values.append(len(part) / submit_files(cluster, part))
    return series


def check_queue(clusters, size):
    for cluster in clusters:
        pending = cluster.count_jobs("-t", "PENDING")
        assert pending == size.queue, f"{cluster.name}: {pending} of {size.queue} jobs are pending"


def list_queue(cluster, size):
    """Milliseconds of one squeue, after its lines have been counted."""
    listing = cluster.work / "squeue.out"
    took = cluster.time("squeue", output=listing)
    with open(listing, encoding="ascii") as lines:
        shown = sum(1 for _ in lines) - 1
    assert shown == size.queue + 1, f"{cluster.name}: squeue shows {shown} jobs"  # and the one that keeps the nodes
    return took


def cancel_queue(cluster):
    """Seconds of one scancel for everything that waits."""
    took = cluster.time("scancel", "-u", user_name(), "-t", "PENDING") / 1000
    left = cluster.count_jobs("-t", "PENDING")
    assert left == 0, f"{cluster.name}: {left} jobs are still pending"
    return took


def full_queue(clusters, report, size):
    report.section(f"{size.queue:,} distinct jobs that wait: full nodes, 2 KB scripts, 3 KB environments")
    folder = clusters[0].folder.parent / "scripts"
    write_scripts(folder, size.queue)
    scripts = [folder / f"job{i}.sh" for i in range(size.queue)]
    for cluster in clusters:
        cluster.wait_idle()
        cluster.fill()
        submit_files(cluster, scripts[:size.queue // 5])  # warm: caches of fixed size that the first jobs fill are no job's memory
        cluster.cancel_all("-t", "PENDING")
    before = {cluster.name: cluster.controller_kib() for cluster in clusters}
    submitted = queue_up(clusters, size, scripts)
    time.sleep(2)  # plans and followers have caught up
    # Before anybody has asked for the list: answers that are kept for the next asker are no job's memory.
    memory = {c.name: Series("KiB", [(c.controller_kib() - before[c.name]) / size.queue]) for c in clusters}
    check_queue(clusters, size)
    listed = by_turns(clusters, 10, "ms", lambda cluster: list_queue(cluster, size), size.quiet)
    cancelled = {cluster.name: Series("s") for cluster in clusters}
    for number in range(size.rounds):
        if number > 0:
            queue_up(clusters, size, scripts)
            check_queue(clusters, size)
        for cluster in clusters:
            size.quiet.wait()
            cancelled[cluster.name].values.append(cancel_queue(cluster))
    report.add(row(f"submitting by {LANES} concurrent `sbatch`", "scripts of many users", submitted))
    report.add(row("memory per pending job", "a deep queue of sbatch jobs", memory, Budget(2, "≤ 2 KiB")))
    report.add(row(f"`squeue` with {size.queue:,} jobs", "looking at a deep queue", listed, Budget(15, "≤ 15 ms")))
    report.add(row(f"`scancel` of {size.queue:,} jobs", "a sweep that was a mistake", cancelled, Budget(0.2, "≤ 0.2 s")))
    for cluster in clusters:
        cluster.cancel_all()


def run(clusters, report, size, build):
    calls(clusters, report, size)
    srun(clusters, report, size)
    array(clusters, report, size, build)
    full_queue(clusters, report, size)


def settle(clusters):
    """Every cluster is up and answers."""
    with deadline(120, "the clusters answer"):
        for cluster in clusters:
            cluster.wait_idle()
            assert cluster.count_jobs() == 0, f"{cluster.name}: a fresh cluster has no jobs"
