"""What operators and careful users rely on: configurations that change, limits that hold, reasons, filters of old jobs."""
import getpass
import os
import re
import time

import pytest

from conftest import end_cluster, make_cluster, until


def edit_conf(cluster, change):
    conf = cluster.dir / "slurm.conf"
    conf.write_text(change(conf.read_text()))


def test_a_large_script_runs_with_its_environment(cluster):
    """Larger together than the controller's cache of scripts."""
    script = "#!/bin/sh\n" + "# padding padding padding padding\n" * 90_000 + "echo done\n"
    job = cluster.sbatch(script, "-o", "large.out")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "large.out").read_text() == "done\n"


def test_every_waiting_job_says_why(cluster):
    later = cluster.sbatch("true", "--begin=now+1hour")
    array = cluster.sbatch("sleep 20", "--array=0-3%1")
    cluster.wait_state(f"{array}_0", "RUNNING")
    assert cluster.run("squeue", "-h", "-j", later, "-o", "%r").out == "BeginTime\n"
    assert cluster.run("squeue", "-h", "-j", array, "-t", "PD", "-o", "%r").out == "JobArrayTaskLimit\n"
    assert "begin time is ahead" in cluster.run("muster", "why", later).out
    assert "wants 2, there is 1" in cluster.run("muster", "why", array).out
    cluster.run("scancel", later, array)


def test_why_names_the_jobs_that_go_first(cluster):
    holder = cluster.sbatch("sleep 60", "-w", "node1", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    first, second = (cluster.sbatch("true", "-w", "node1", "--exclusive", "-t", "5") for _ in range(2))
    until(lambda: "behind jobs" in cluster.run("muster", "why", second).out, "a plan that has seen both")
    said = cluster.run("muster", "why", second).out
    assert f"jobs of higher rank wait for the same nodes: 1\n{'':17}behind jobs {first}\n" in said, said
    assert f"held by jobs {holder}" in cluster.run("muster", "why", first).out
    cluster.run("scancel", holder, first, second)


def test_what_was_given_is_told(cluster):
    result = cluster.run("sbatch", "-v", "-H", "-J", "told", "--mem=100", "--wrap", "true")
    assert re.search(r"^sbatch: job-name +: told$", result.err, re.M) and re.search(r"^sbatch: mem +: 100$", result.err, re.M)
    cluster.run("scancel", "-n", "told")
    none = cluster.run("scancel", "-v", "-n", "nobody", "-p", "main", check=False)
    assert "No active jobs match ALL job filters, including: job_name=nobody partition=main" in none.err


def test_values_that_are_refused(cluster):
    for words, text in ((["-N", "4096m"], '"4096m" is not a valid node count'), (["-J", "x" * 5000], "too long"),
                        (["--propagate=BOGUS"], "Bad rlimit name: BOGUS"),
                        (["--deadline=now+5minutes", "-t", "10"], "Requested time limit is invalid")):
        result = cluster.run("sbatch", *words, "--wrap", "true", check=False)
        assert result.code != 0 and text in result.err, (words, result)
    missing = cluster.run("scontrol", "show", "job", f"{cluster.sbatch('true', '--array=1-2')}_99", check=False)
    assert missing.code == 1 and re.search(r"Job \d+_99 not found", missing.err + missing.out)
    relative = cluster.sbatch("true", "-H", "-t", "10")
    cluster.run("scontrol", "update", f"jobid={relative}", "TimeLimit+=5")
    assert cluster.run("squeue", "-h", "-j", relative, "-o", "%l").out == "15:00\n"
    cluster.run("scancel", relative)


def test_limits_of_the_configuration_hold(own_cluster):
    cluster = own_cluster(nodes=2, cpus=4, conf={"MaxMemPerNode": "2000", "MaxTasksPerNode": "2", "MaxJobCount": "3"})
    refused = cluster.run("sbatch", "--mem=3000", "--wrap", "true", check=False)
    assert refused.code != 0 and "Memory required by task is not available" in refused.err
    assert sorted(cluster.run("srun", "-n4", "hostname").out.split()) == ["node1", "node1", "node2", "node2"]
    held = [cluster.sbatch("true", "-H") for _ in range(3)]
    waiting = cluster.popen("sbatch", "--wrap", "true")
    time.sleep(0.5)
    cluster.run("scancel", *held)
    out, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 0 and "Submitted" in out
    assert "sbatch: error: Slurm job queue full, sleeping and retrying" in err


@pytest.mark.parametrize("order", ["reversed", "one less"])
def test_nodes_and_partitions_may_be_reordered(own_cluster, order):
    cluster = own_cluster(nodes=3)
    running = cluster.sbatch("sleep 3; hostname", "-w", "node3", "-o", "run.out")
    cluster.wait_state(running, "RUNNING")

    def change(text):
        nodes = [line for line in text.splitlines() if line.startswith("NodeName=")]
        others = [line for line in text.splitlines() if not line.startswith(("NodeName=", "PartitionName="))]
        nodes = nodes[::-1] if order == "reversed" else nodes[1:]
        partitions = ["PartitionName=first Nodes=node3 State=UP", "PartitionName=main Nodes=ALL Default=YES State=UP"]
        return "\n".join(others + nodes + partitions) + "\n"

    edit_conf(cluster, change)
    cluster.run("scontrol", "reconfigure")
    until(lambda: "first" in cluster.run("sinfo", "-h", "-o", "%R", check=False).out)
    assert cluster.run("squeue", "-h", "-j", running, "-o", "%P %N", check=False).out in ("main node3\n", "")
    assert cluster.wait_ended(running)["State"] == "COMPLETED"
    assert (cluster.work / "run.out").read_text() == "node3\n"
    assert cluster.job(running, "Partition")["Partition"] == "main"
    until(lambda: cluster.run("srun", "-p", "first", "hostname", check=False).out == "node3\n")
    assert cluster.run("muster", "check", "--dir", cluster.dir).code == 0


def test_old_jobs_are_filtered_as_new_ones(own_cluster):
    cluster = own_cluster(nodes=1, conf={"MinJobAge": "1"})
    job = cluster.sbatch("true", "-A", "physics", "--wckey", "k1")
    cluster.wait_ended(job)
    until(lambda: cluster.run("squeue", "-h", "-t", "all", "-j", job, check=False).out == "")
    for words, is_there in ((["-A", "physics"], True), (["-A", "nope"], False), (["-r", "main"], True), (["-r", "nope"], False),
                            (["-W", "k1"], True), (["-W", "nope"], False), (["-N", "node1"], True), (["-N", "node7"], False)):
        out = cluster.run("sacct", "-a", "-X", "-n", "-P", "-o", "JobID", *words).out
        assert (out == f"{job}\n") == is_there, (words, out)
    for kind in ("afterok", "afterany"):
        late = cluster.run("sbatch", "--parsable", "-d", f"{kind}:{job}", "--wrap", "true").out.strip()
        assert cluster.wait_ended(late)["State"] == "COMPLETED"


def test_several_steps_can_be_asked_for(cluster):
    job = cluster.sbatch("srun -n1 --overlap sleep 20 & srun -n1 --overlap sleep 20 & wait")
    until(lambda: len(cluster.run("squeue", "-h", "-s", "-j", job, check=False).out.splitlines()) == 3)
    out = cluster.run("squeue", "-h", f"--steps={job}.0,{job}.batch", "-o", "%i").out
    assert sorted(out.split()) == [f"{job}.0", f"{job}.batch"]
    cluster.run("scancel", job)


def test_a_step_is_told_what_it_cannot_have(cluster):
    result = cluster.run("salloc", "-Q", "-n2", "--mem=500", "sh", "-c", "srun --mem=50G true; srun -p nosuch -C none --mem=400 echo ran")
    assert "Unable to create step for job" in result.err and "Memory required by task is not available" in result.err
    assert "--partition is for a job and has no effect on a step" in result.err and "--constraint is for a job" in result.err
    assert result.out == "ran\nran\n"


def test_a_cluster_that_is_there_keeps_its_nodes(cluster):
    result = cluster.run("muster", "up", "--dir", cluster.dir, "--nodes", "7", "--detach", check=False)
    assert result.code == 1 and "has other nodes than were asked for" in result.err


@pytest.mark.root_only
def test_an_update_passes_the_doors_of_a_submission(own_cluster):
    cluster = own_cluster(nodes=1)
    edit_conf(cluster, lambda text: text + "PartitionName=rootp Nodes=ALL RootOnly=YES State=UP\n")
    cluster.run("scontrol", "reconfigure")
    until(lambda: "rootp" in cluster.run("sinfo", "-h", "-o", "%R", check=False).out)
    os.chmod(cluster.dir, 0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    job = cluster.run(*as_nobody, "sbatch", "--parsable", "-H", "-D", "/tmp", "-o", "/dev/null", "--wrap", "true").out.strip()
    for change in ("partition=rootp", "priority=9223372041149743103", "admincomment=mine", "numnodes=4294967297", "features=[x"):
        result = cluster.run(*as_nobody, "scontrol", "update", f"jobid={job}", change, check=False)
        assert result.code == 1, (change, result)
    assert "Priority=0 " in cluster.run("scontrol", "-o", "show", "job", job).out


def test_a_cluster_with_gpus_of_a_type(tmp_path):
    made = make_cluster(nodes=1, gpus="h100:2")
    try:
        assert made.run("sinfo", "-h", "-o", "%G").out == "gpu:h100:2\n"
        assert made.run("srun", "--gpus=h100:1", "sh", "-c", "echo $SLURM_GPUS_ON_NODE").out == "1\n"
        bad = made.run("muster", "up", "--dir", str(tmp_path / "x"), "--gpus", "h100:x", check=False)
        assert bad.code != 0 and "TYPE:NUMBER" in bad.err + bad.out
    finally:
        end_cluster(made)


def test_a_job_of_many_steps_keeps_the_last_and_sacct_has_all(cluster):
    job = cluster.sbatch("for i in $(seq 120); do srun -n1 true || exit 1; done; touch done; sleep 300", "-o", "many.out")
    until(lambda: (cluster.work / "done").exists(), lambda: (cluster.work / "many.out").read_text(), timeout=120)
    shown = lambda: cluster.run("scontrol", "show", "step", job).out.count("StepId=")
    until(lambda: shown() <= 66, lambda: f"{shown()} steps in memory", timeout=60)
    rows = cluster.run("sacct", "-n", "-P", "-j", job, "-o", "JobID,State").out.splitlines()
    assert [row for row in rows if row.startswith(f"{job}.")] == [f"{job}.batch|RUNNING"] + [f"{job}.{i}|COMPLETED" for i in range(120)]
    cluster.run("scancel", job)
    cluster.wait_ended(job)
    assert cluster.run("sacct", "-n", "-P", "-j", job, "-o", "JobID").out.count(f"{job}.") == 121
    checked = cluster.run("muster", "check", "--dir", cluster.dir).out
    assert "history: complete up to batch" in checked, checked


@pytest.mark.parametrize("option, reached", [("--full", {"script", "child"}), ("--batch", {"script"})])
def test_signals_reach_the_scripts_children_by_full_alone(cluster, option, reached):
    told = cluster.work / f"told{option}"
    child = f"""sh -c 'trap "echo child >> {told}" USR1; echo ready >> {told}; while :; do sleep 0.1; done' &"""
    job = cluster.sbatch(f"trap 'echo script >> {told}' USR1\n{child}\nwhile :; do wait; done")
    until(lambda: told.exists() and "ready" in told.read_text())
    cluster.run("scancel", option, "-s", "USR1", job)
    until(lambda: reached <= set(told.read_text().split()))
    cluster.run("scancel", "-s", "USR2", "--full", job)  # whatever came late has come by the time that this has ended them
    cluster.wait_ended(job)
    assert set(told.read_text().split()) == reached | {"ready"}


def test_jobs_of_others_alone(cluster):
    mine = cluster.sbatch("true", "-H")
    assert str(mine) in cluster.run("squeue", "-h", "-o", "%i").out.split()
    assert cluster.run("squeue", "-h", "--notme", "-o", "%i").out.split() == []
    if os.geteuid() == 0:
        stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        assert str(mine) in cluster.run(*stranger, "squeue", "-h", "--notme", "-o", "%i", cwd="/").out.split()
    cluster.run("scancel", mine)


def test_long_names_of_filters_and_fields(own_cluster):
    cluster = own_cluster(nodes=2, cpus=2)
    edit_conf(cluster, lambda text: text + "PartitionName=other Nodes=node2 State=UP\n")
    cluster.run("scontrol", "reconfigure")
    until(lambda: "other" in cluster.run("sinfo", "-h", "-o", "%R", check=False).out)
    me, nobody_here = getpass.getuser(), "daemon"
    first = cluster.sbatch("sleep 300", "-p", "main", "-w", "node1", "-A", "physics", "-J", "one", "-o", "/dev/null")
    second = cluster.sbatch("sleep 300", "-p", "other", "-A", "biology", "-J", "two", "-o", "/dev/null")
    for job in (first, second):
        cluster.wait_state(job, "RUNNING")
    both = {first, second}
    for option, found in (("--partitions=other", {second}), ("--partitions=main,other", both), ("--partitions=main", {first}),
                          ("--nodes=node1", {first}), ("--nodes=node[1-2]", both), ("--accounts=biology", {second}),
                          ("--accounts=physics,biology", both), ("--accounts=none", set()), (f"--users={me}", both),
                          (f"--users={nobody_here}", set()), (f"--users={me},{nobody_here}", both), ("--notme", set()),
                          ("--me", both)):
        assert {int(job) for job in cluster.run("squeue", "-h", option, "-o", "%i").out.split()} == found, option
    together = ["--users", me, "--partitions", "other", "--nodes", "node2", "--accounts", "biology"]
    assert cluster.run("squeue", "-h", *together, "-o", "%i").out.split() == [str(second)]
    rows = cluster.run("sacct", "-X", "-n", "-P", "--fields=JobName,Partition,Account").out.splitlines()
    assert rows == ["one|main|physics", "two|other|biology"]
    widths = cluster.run("sacct", "-X", "-n", "--fields", "JobName%5,State%-9").out.splitlines()
    assert widths == ["  one RUNNING   ", "  two RUNNING   "]
    names = cluster.run("sacct", "--helpformat").out.split()
    assert {"JobID", "JobName", "Partition", "Account", "State", "ExitCode", "Elapsed", "NodeList"} <= set(names)
    assert len(names) == len(set(names))
    header, *_ = cluster.run("sacct", "-X", "-P", f"--fields={','.join(names)}").out.splitlines()
    assert header.split("|") == names, "each that is listed can be asked for"
    cluster.run("scancel", first, second)


def test_spread_tasks_and_hosts_of_a_file(cluster):
    assert sorted(cluster.run("srun", "-n2", "--spread-job", "hostname").out.split()) == ["node1", "node2"]
    hosts = cluster.work / "hosts"
    hosts.write_text("node1\nnode1\nnode2\nnode2\n")
    lines = cluster.run("srun", "-l", "hostname", env={"SLURM_HOSTFILE": str(hosts)}).out.splitlines()
    assert sorted(lines) == ["0: node1", "1: node1", "2: node2", "3: node2"]
    hosts.write_text("node2\nnode1\n")
    refused = cluster.run("srun", "hostname", check=False, env={"SLURM_HOSTFILE": str(hosts)})
    assert refused.code != 0 and "a host file with an order of tasks of its own" in refused.err, "never in another order"


def test_a_cluster_is_the_same_by_every_spelling_of_its_folder(own_cluster):
    cluster = own_cluster(nodes=1)
    pid = cluster.pid("controller")
    link = cluster.base / "link"
    link.symlink_to(cluster.dir)
    for spelling in (f"{cluster.dir}/", f"{cluster.dir}/../{cluster.dir.name}/.", str(link)):
        assert "starting" not in cluster.run("muster", "up", "--dir", spelling, "--detach").err, spelling
        assert cluster.pid("controller") == pid
    waiting = cluster.sbatch("true", "--begin=now+1hour")
    told = cluster.run("muster", "down", "--dir", f"{link}/").err
    assert "stopping controller" in told and "1 job that runs or waits is cancelled" in told, told
    assert not (cluster.dir / "controller.pid").exists()
    until(lambda: not os.path.exists(f"/proc/{pid}"), "the controller has ended", 10)
    cluster.up()
    assert cluster.job(waiting, "State")["State"].startswith("CANCELLED")


def test_what_was_not_started_from_here_is_left_alone(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 60")
    cluster.wait_state(job, "RUNNING")
    kept = (cluster.dir / "controller.pid").read_text()
    (cluster.dir / "controller.pid").write_text("1\n")
    refused = cluster.run("muster", "down", "--dir", cluster.dir, check=False)
    assert refused.code == 1 and "nothing was ended" in refused.err
    assert cluster.job(job, "State")["State"] == "RUNNING"
    (cluster.dir / "controller.pid").write_text(kept)


@pytest.mark.root_only
def test_another_users_cluster_is_not_brought_down(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 60")
    cluster.wait_state(job, "RUNNING")
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    refused = cluster.run(*as_nobody, "muster", "down", "--dir", cluster.dir, check=False)
    assert refused.code == 1 and "is another user's" in refused.err, refused
    assert cluster.job(job, "State")["State"] == "RUNNING"


def test_a_folder_that_slurm_conf_cannot_name_is_refused(cluster):
    for name in ("my cluster", "half%n"):
        refused = cluster.run("muster", "up", "--dir", cluster.base / name, "--detach", check=False)
        assert refused.code == 1 and "take another --dir" in refused.err
        assert not (cluster.base / name).exists()


@pytest.mark.root_only
def test_supervisors_stand_in_the_root_folder(cluster):
    """A user's /proc/self/cwd would lead into the agent's folder."""
    job = cluster.sbatch("readlink /proc/$PPID/cwd", "-o", "supervisor.out")
    cluster.wait_ended(job)
    assert (cluster.work / "supervisor.out").read_text() == "/\n"


def test_a_cluster_goes_home_and_its_jobs_stay(own_cluster):
    cluster = own_cluster(nodes=1, cpus=2)
    running = cluster.sbatch("sleep 3; echo over", "-n2", "-o", "kept.out")
    waiting = cluster.sbatch("echo begun", "-n2", "-o", "waited.out")
    cluster.wait_state(running, "RUNNING")
    told = cluster.run("muster", "down", "--keep-jobs", "--dir", cluster.dir).err
    assert "cancelled" not in told and "stopping controller" in told
    until(lambda: (cluster.work / "kept.out").read_text() == "over\n", "it goes on alone", 30)
    assert not (cluster.work / "waited.out").exists()
    cluster.up()
    assert cluster.wait_ended(running)["State"] == "COMPLETED"
    assert cluster.wait_ended(waiting)["State"] == "COMPLETED"
    assert (cluster.work / "waited.out").read_text() == "begun\n"
