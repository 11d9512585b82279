"""Lists that are longer than a page: whole, in order, and the same by every way in which they can be asked for."""
from conftest import until


def test_long_lists_are_whole(own_cluster):
    cluster = own_cluster(nodes=2, cpus=16)
    run = cluster.sbatch("true", "-J", "ran", "--array=0-399", "-o", "/dev/null")
    other = cluster.sbatch("srun true; srun true", "-J", "steps", "-o", "/dev/null")
    waits = cluster.sbatch("true", "-J", "waits", "--array=0-899", "--hold")
    singles = [cluster.sbatch("true", "-J", "single", "--hold") for _ in range(5)]
    # Elements that have split off have numbers of their own: more than one page of them.
    cluster.run("scancel", *[f"{waits}_{index}" for index in range(0, 700)])
    left = [f"{waits}_[700-899]"] + [str(job) for job in singles]

    def rows(*words):
        return cluster.run("sacct", "-a", "-n", "-P", "-S", "now-1hour", *words).out.splitlines()

    wanted = ([f"{run}_{index}|COMPLETED" for index in range(400)] + [f"{other}|COMPLETED"] +
              [f"{waits}_{index}|CANCELLED" for index in range(700)] + [f"{job}|PENDING" for job in left])

    def ended():
        return sorted(line.replace(" by 0", "") for line in rows("-X", "-o", "JobID,State"))
    until(lambda: not any("RUNNING" in row or "_[" in row and row.startswith(f"{run}_") for row in ended()), "the array", 90)
    listed = [row.partition(" by ")[0] for row in ended()]
    assert listed == sorted(wanted)
    numbers = [int(line) for line in rows("-X", "-o", "JobIDRaw")]
    assert numbers == sorted(numbers) and len(numbers) == len(wanted)
    with_steps = rows("-o", "JobID,State")
    assert len(with_steps) == len(wanted) + 400 + 3, "a batch step of each that ran, and two more"
    assert sorted(rows("-X", "-o", "JobID,State", "--name=ran,steps"))[:3] == sorted(wanted[:401])[:3]
    assert len(rows("-X", "-o", "JobID", "-j", waits)) == 701
    assert len(rows("-X", "-o", "JobID", "-s", "CANCELLED")) == 700

    queued = cluster.run("squeue", "-h", "-r", "-o", "%i").out.split()
    assert sorted(queued) == sorted([f"{waits}_{index}" for index in range(700, 900)] + [str(job) for job in singles])
    everything = cluster.run("squeue", "-h", "-t", "all", "-o", "%i").out.split()
    assert len(everything) == len(wanted)
    shown = cluster.run("scontrol", "show", "jobs").out
    assert sum(line.startswith("JobId=") for line in shown.splitlines()) == len(wanted)
