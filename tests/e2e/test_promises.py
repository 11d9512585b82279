"""Pauses, clocks, lost state and second agents: what real daemons make of them."""
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BIN, supervisors, until

TICKS = "i=0; while [ $i -lt {n} ]; do echo tick $i; i=$((i+1)); sleep 0.2; done"


def state_of(cluster, job):
    return cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").out.strip()


def restarts_of(cluster, job):
    text = cluster.run("scontrol", "show", "job", job).out
    return int(text.split("Restarts=")[1].split()[0])


def begun(cluster, count):
    """Jobs whose scripts have begun: RUNNING alone says that they were told to."""
    jobs = [cluster.sbatch("touch begun-$SLURM_JOB_ID; sleep 300") for _ in range(count)]
    for job in jobs:
        until(lambda: (cluster.work / f"begun-{job}").exists(), f"job {job} begins")
    return jobs


def stop_hard(cluster, *names):
    for name in names:
        os.kill(cluster.pid(name), signal.SIGKILL)
    time.sleep(0.3)


@pytest.fixture
def pair(own_cluster):
    return own_cluster(nodes=2, conf={"KillWait": "2"})


@pytest.fixture
def impatient(own_cluster):
    """A cluster that gives a silent node up after six seconds."""
    return own_cluster(nodes=2, conf={"SlurmdTimeout": 6, "KillWait": 2})


@pytest.mark.long
@pytest.mark.parametrize("names", [["agent-node1", "agent-node2"], ["controller"], ["controller", "agent-node1", "agent-node2"]])
def test_a_pause_of_daemons_ends_nothing(impatient, names):
    cluster = impatient
    job = cluster.sbatch(TICKS.format(n=120), "-o", "out.txt")
    cluster.wait_state(job, "RUNNING")
    srun = cluster.popen("srun", "-n1", "sh", "-c", "sleep 20; echo done")
    until(lambda: len(cluster.run("squeue", "-h", "-t", "R").out.splitlines()) == 2, "both run")
    pids = [cluster.pid(name) for name in names]
    # Agents alone are silent for the controller: for less than its timeout.
    pause = 5 if "controller" not in names else 14
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(pause)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    out, err = srun.communicate(timeout=60)
    assert (srun.returncode, out.strip()) == (0, "done"), err
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert restarts_of(cluster, job) == 0
    assert (cluster.work / "out.txt").read_text().split()[1::2] == [str(i) for i in range(120)]


def daemons_of(cluster):
    """The processes of a cluster that are none of its users': controller, agents, supervisors and who starts them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        program = os.path.basename(words[0]).decode()
        if program in ("musterd", "muster-agent", "muster-stepd") and any(str(cluster.dir).encode() in word for word in words):
            found.append(int(entry.name))
    return found


@pytest.mark.long
def test_everything_stands_still_for_as_long_as_told(own_cluster, request):
    """As a machine that is suspended, but for the users' own processes. `make pauses MINUTES=10` takes its time.

    However short the pause, it is several times as long as what a silent node and a launch have."""
    pause = request.config.getoption("--pause")
    timeout = max(3, min(15, pause // 4))
    cluster = own_cluster(nodes=2, conf={"SlurmdTimeout": timeout, "MusterLaunchTimeout": timeout, "KillWait": 2})
    assert pause > 3 * timeout
    batch = cluster.sbatch(TICKS.format(n=5 * (pause + 15)), "-o", "out.txt")
    cluster.wait_state(batch, "RUNNING")
    srun = cluster.popen("srun", "-n1", "sh", "-c", f"sleep {pause + 5}; echo done")
    salloc = cluster.popen("salloc", "-n1", "sh", "-c", f"sleep {pause + 5}; srun echo inside")
    until(lambda: len(cluster.run("squeue", "-h", "-t", "R").out.splitlines()) == 3, "all three run")
    time.sleep(1)
    pids = daemons_of(cluster)
    assert len(pids) >= 5, "a controller, two agents, and the supervisors of a batch job and a step"
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(pause)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    for client, said in ((srun, "done"), (salloc, "inside")):
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0 and out.strip().endswith(said), err
    assert cluster.wait_ended(batch)["State"] == "COMPLETED"
    assert restarts_of(cluster, batch) == 0
    assert (cluster.work / "out.txt").read_text().split()[1::2] == [str(i) for i in range(5 * (pause + 15))]
    assert "hash" in cluster.run("muster", "check", "--dir", cluster.dir).out


def shim_of(tmp_path_factory, name):
    source = Path(__file__).with_name(f"{name}.c")
    library = tmp_path_factory.mktemp("shim") / f"{name}.so"
    compiler = shutil.which("gcc") or shutil.which("cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return shim_of(tmp_path_factory, "clock_shim")


def test_an_agent_that_stands_still_while_it_records_a_launch_loses_no_step(own_cluster, tmp_path_factory):
    """The pause is the agent's own, and no fault of the disk: the step starts a little later."""
    cluster = own_cluster(nodes=1, conf={"SlurmdTimeout": 30})
    asked, begun = cluster.dir / "sync-slowly", cluster.dir / "sync-begun"
    stop_hard(cluster, "agent-node1")
    shim = shim_of(tmp_path_factory, "sync_shim")
    cluster.run("muster", "up", *cluster.args, "--detach",
                env={"LD_PRELOAD": str(shim), "SYNC_SHIM": str(asked), "SYNC_BEGUN": str(begun)})
    asked.touch()
    srun = cluster.popen("srun", "-n1", "echo", "done")
    until(begun.exists, "the launch is being recorded")
    agent = cluster.pid("agent-node1")
    os.kill(agent, signal.SIGSTOP)
    asked.unlink()
    time.sleep(8)
    os.kill(agent, signal.SIGCONT)
    out, err = srun.communicate(timeout=60)
    assert (srun.returncode, out.strip()) == (0, "done"), err
    until(lambda: cluster.run("sinfo", "-h", "-o", "%T").out.strip() == "idle", "the node is free and not drained")


class ShimmedCluster:
    """The wall clock of some daemons is off by what `set` says. Supervisors have their agent's; clients and tasks are right."""

    def __init__(self, cluster, shim, daemons=("controller",)):
        self.cluster = cluster
        self.file = cluster.dir / "clock"
        self.file.write_text("0")
        stop_hard(cluster, *daemons)
        cluster.run("muster", "up", *cluster.args, "--detach", env={"LD_PRELOAD": str(shim), "CLOCK_SHIM": str(self.file)})

    def set(self, seconds):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.rename(self.file)


@pytest.mark.long
@pytest.mark.parametrize("jump", [3600, -3600, 30 * 86400])
def test_a_clock_that_jumps_and_comes_back_ends_nothing(impatient, shim, jump):
    cluster = impatient
    shimmed = ShimmedCluster(cluster, shim)
    job = cluster.sbatch(TICKS.format(n=100), "-t", "5", "-o", "out.txt")
    cluster.wait_state(job, "RUNNING")
    srun = cluster.popen("srun", "-n1", "sh", "-c", "sleep 15; echo done")
    shimmed.set(jump)
    time.sleep(2)
    short = cluster.sbatch("sleep 300", "-t", "1")
    time.sleep(3)
    ping = cluster.run("scontrol", "ping")
    assert ping.out.endswith("is UP\n") and "warning: the wall clock jumped by " in ping.err
    assert "warning: the wall clock jumped by " in cluster.run("muster", "check", "--dir", cluster.dir).out
    shimmed.set(0)
    until(lambda: cluster.run("scontrol", "ping").err == "", "the clock is followed again")
    out, err = srun.communicate(timeout=60)
    assert (srun.returncode, out.strip()) == (0, "done"), err
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert restarts_of(cluster, job) == 0
    started = cluster.run("squeue", "-h", "-j", short, "-o", "%S").out.strip()
    now = time.time()
    assert abs(time.mktime(time.strptime(started, "%Y-%m-%dT%H:%M:%S")) - time.timezone - now) < 120, started
    if jump < 30 * 86400:
        cluster.run("scancel", short)
        return
    # A minute is a minute.
    assert cluster.wait_ended(short, timeout=100)["State"] == "TIMEOUT"


def is_shimmed(pid):
    return b"clock_shim.so" in Path(f"/proc/{pid}/maps").read_bytes()


def seconds_off(cluster, job, field):
    """By how much a time that sacct shows of a job differs from now."""
    shown = cluster.job(job, field)[field]
    return abs(time.mktime(time.strptime(shown, "%Y-%m-%dT%H:%M:%S")) - time.timezone - time.time())


@pytest.mark.long
def test_clocks_of_all_daemons_that_jump_and_come_back_end_nothing(impatient, shim):
    """Those of a whole machine: the controller's, its agents' and the supervisors'."""
    cluster = impatient
    shimmed = ShimmedCluster(cluster, shim, ("controller", "agent-node1", "agent-node2"))
    batch = cluster.sbatch(TICKS.format(n=100000), "-t", "60", "-o", "out.txt")
    cluster.wait_state(batch, "RUNNING")
    wait = "while [ ! -e go ]; do sleep 0.2; done"
    srun = cluster.popen("srun", "-n1", "-t", "60", "sh", "-c", f"{wait}; echo done")
    salloc = cluster.popen("salloc", "-n1", "-t", "60", "sh", "-c", f"{wait}; srun echo inside")
    until(lambda: len(cluster.run("squeue", "-h", "-t", "R").out.splitlines()) == 3, "all three run")
    pids = until(lambda: len(found := daemons_of(cluster)) >= 5 and found, "a controller, two agents, and two supervisors")
    assert all(is_shimmed(pid) for pid in pids)
    for jump in (3600, -3600, 30 * 86400):
        shimmed.set(jump)
        time.sleep(4)
        # What begins meanwhile is run, too.
        assert cluster.wait_ended(cluster.sbatch("true", "-o", "/dev/null"))["State"] == "COMPLETED"
        shimmed.set(0)
        time.sleep(2)
        assert len(cluster.run("squeue", "-h", "-t", "R").out.splitlines()) == 3, f"all three run after a jump by {jump} s"
    (cluster.work / "go").touch()
    for client, said in ((srun, "done"), (salloc, "inside")):
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0 and said in out, err
    assert cluster.job(batch)["State"] == "RUNNING" and restarts_of(cluster, batch) == 0
    cluster.run("scancel", batch)
    cluster.wait_ended(batch)
    ticks = [line for line in (cluster.work / "out.txt").read_text().splitlines() if line.startswith("tick")]
    assert len(ticks) > 50 and ticks == [f"tick {i}" for i in range(len(ticks))]
    last = cluster.sbatch("true", "-o", "/dev/null")
    assert cluster.wait_ended(last)["State"] == "COMPLETED"
    off = {field: seconds_off(cluster, last, field) for field in ("Submit", "Eligible", "Start", "End")}
    assert all(seconds < 120 for seconds in off.values()), "the time is true again"
    # A job that has ended may still be completing.
    until(lambda: {node.strip("*") for node in cluster.run("sinfo", "-h", "-N", "-o", "%t").out.split()} == {"idle"}, "all is free")
    assert "hash" in cluster.run("muster", "check", "--dir", cluster.dir).out


@pytest.mark.long
def test_a_state_that_is_stamped_in_the_future_heals(own_cluster, shim):
    """It was begun under a clock that stood twenty minutes ahead, and is started again when that has been put right."""
    cluster = own_cluster(nodes=1)
    cluster.down()
    shutil.rmtree(cluster.dir / "state")
    shutil.rmtree(cluster.dir / "spool")
    file = cluster.dir / "clock"
    file.write_text("1200")
    cluster.run("muster", "up", *cluster.args, "--detach", env={"LD_PRELOAD": str(shim), "CLOCK_SHIM": str(file)})
    job = cluster.sbatch(TICKS.format(n=100000), "-t", "60", "-o", "out.txt")
    cluster.wait_state(job, "RUNNING")
    assert 1100 < seconds_off(cluster, job, "Start") < 1300
    stop_hard(cluster, "controller")
    file.write_text("0")
    cluster.run("muster", "up", *cluster.args, "--detach")
    log = cluster.dir / "log" / "controller.log"
    until(lambda: "following it: starting again" in log.read_text(), "the clock has been right for long enough", timeout=60)
    until(lambda: cluster.run("scontrol", "ping", check=False).err == "", "it is followed")
    later = cluster.sbatch("true", "-o", "/dev/null")
    assert cluster.wait_ended(later)["State"] == "COMPLETED"
    off = {field: seconds_off(cluster, later, field) for field in ("Submit", "Eligible", "Start", "End")}
    assert all(seconds < 120 for seconds in off.values()), off
    assert seconds_off(cluster, job, "Start") < 180, "what runs has moved along"
    assert (cluster.job(job)["State"], restarts_of(cluster, job)) == ("RUNNING", 0)
    assert "hash" in cluster.run("muster", "check", "--dir", cluster.dir).out


@pytest.mark.long
def test_a_dead_node_is_found_while_the_clock_is_an_hour_back(impatient, shim):
    cluster = impatient
    shimmed = ShimmedCluster(cluster, shim)
    lost = cluster.sbatch("echo $$ > pid; exec sleep 300", "-w", "node2", "--no-requeue", "-o", "/dev/null")
    script = int(until(lambda: (cluster.work / "pid").exists() and (cluster.work / "pid").read_text(), "its begin"))
    shimmed.set(-3600)
    time.sleep(2)
    for pid in (cluster.pid("agent-node2"), *supervisors(cluster), script):
        os.kill(pid, signal.SIGKILL)
    state = lambda node: cluster.run("sinfo", "-h", "-N", "-n", node, "-o", "%t").out.strip()
    until(lambda: state("node2") == "down*", lambda: state("node2"), timeout=60)  # by a monotonic clock, and no hour
    assert cluster.wait_ended(lost)["State"] == "NODE_FAIL"
    assert state("node1") == "idle"


@pytest.mark.long
def test_a_clock_that_stays_is_followed(impatient, shim):
    cluster = impatient
    shimmed = ShimmedCluster(cluster, shim)
    job = cluster.sbatch("sleep 600", "-t", "20")
    cluster.wait_state(job, "RUNNING")
    left = cluster.run("squeue", "-h", "-j", job, "-o", "%L").out.strip()
    shimmed.set(300)  # believed after ten seconds
    log = cluster.dir / "log" / "controller.log"
    until(lambda: "s ahead" in log.read_text(), "the jump is followed", timeout=60)
    until(lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%T", check=False).out.strip() == "RUNNING", "it runs on")
    after = cluster.run("squeue", "-h", "-j", job, "-o", "%L").out.strip()
    minutes = lambda text: int(text.split(":")[0])
    assert abs(minutes(left) - minutes(after)) <= 2, (left, after)
    begun = cluster.run("scontrol", "show", "job", job).out.split("StartTime=")[1].split()[0]
    ahead = time.mktime(time.strptime(begun, "%Y-%m-%dT%H:%M:%S")) - time.timezone - time.time()
    assert 200 < ahead < 310, "its times moved along with the clock"
    assert restarts_of(cluster, job) == 0
    assert "hash" in cluster.run("muster", "check", "--dir", cluster.dir).out


def test_a_second_agent_of_a_node_is_refused(pair):
    cluster = pair
    job = cluster.sbatch(TICKS.format(n=60), "-w", "node1", "-o", "out.txt")
    until(lambda: (cluster.work / "out.txt").exists(), "the first agent has the node")
    conf = cluster.dir / "slurm.conf"
    stray = subprocess.run([str(BIN / "muster-agent"), "-f", str(conf), "-N", "node1"], env=cluster.env(), capture_output=True, text=True, timeout=20)
    assert stray.returncode != 0
    assert "another agent uses the spool" in stray.stderr
    # With a spool of its own it starts, and the controller does not take it.
    other = cluster.dir / "other.conf"
    other.write_text(conf.read_text().replace("/spool/%n", "/spool/other-%n"))
    agent = cluster.popen(str(BIN / "muster-agent"), "-f", other, "-N", "node1")
    time.sleep(3)
    agent.terminate()
    _, err = agent.communicate(timeout=10)
    assert "has an agent already" in err
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "out.txt").read_text().count("tick 0\n") == 1
    assert cluster.run("srun", "-w", "node1", "echo", "there").out.strip() == "there"


def test_a_lost_state_is_told_and_ids_go_on(pair):
    cluster = pair
    jobs = begun(cluster, 3)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    shutil.rmtree(cluster.dir / "state")
    cluster.run("muster", "up", *cluster.args, "--detach")
    log = (cluster.dir / "log" / "controller.log").read_text()
    assert "state was lost" in log
    fresh = cluster.sbatch("echo back")
    assert fresh > max(jobs)
    assert cluster.wait_ended(fresh)["State"] == "COMPLETED"
    # Nothing of the old jobs runs on beside the new ones.
    assert cluster.run("squeue", "-h").out == ""


def test_an_older_state_is_told_and_ids_go_on(pair):
    cluster = pair
    first = cluster.sbatch("true")
    cluster.wait_ended(first)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    shutil.copytree(cluster.dir / "state", cluster.dir / "backup")
    cluster.run("muster", "up", *cluster.args, "--detach")
    later = begun(cluster, 3)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    shutil.rmtree(cluster.dir / "state")
    (cluster.dir / "backup").rename(cluster.dir / "state")
    cluster.run("muster", "up", *cluster.args, "--detach")
    log = cluster.dir / "log" / "controller.log"
    until(lambda: "older copy" in log.read_text(), "a node has said so")
    fresh = cluster.sbatch("echo back")
    assert fresh > max(later)
    assert cluster.wait_ended(fresh)["State"] == "COMPLETED"


def test_an_older_journal_beside_its_history_gives_no_id_again(pair):
    cluster = pair
    cluster.wait_ended(cluster.sbatch("true"))
    stop_hard(cluster, "controller")
    backup = cluster.dir / "backup"
    backup.mkdir()
    for file in (cluster.dir / "state").glob("journal.db*"):
        shutil.copy(file, backup)
    cluster.run("muster", "up", *cluster.args, "--detach")
    ended = [cluster.sbatch(f"exit {code}") for code in (0, 3)]
    for job in ended:
        cluster.wait_ended(job)
    stop_hard(cluster, "controller")
    for file in (cluster.dir / "state").glob("journal.db*"):
        file.unlink()
    for file in backup.iterdir():
        shutil.copy(file, cluster.dir / "state")
    cluster.run("muster", "up", *cluster.args, "--detach")
    assert "history.db is ahead of the journal" in (cluster.dir / "log" / "controller.log").read_text()
    fresh = cluster.sbatch("true")
    assert fresh > max(ended)
    assert cluster.wait_ended(fresh)["State"] == "COMPLETED"
    assert [cluster.job(job)["ExitCode"] for job in ended] == ["0:0", "3:0"], "what ended meanwhile is still known"


def test_an_older_state_takes_no_process_for_another_job(pair):
    """Its ids are given again before any node has said what it runs."""
    cluster = pair
    cluster.wait_ended(cluster.sbatch("true"))
    stop_hard(cluster, "controller")
    shutil.copytree(cluster.dir / "state", cluster.dir / "backup")
    cluster.run("muster", "up", *cluster.args, "--detach")
    old = cluster.sbatch("echo $$ > old-pid; sleep 300", "-w", "node1")
    until((cluster.work / "old-pid").exists, "the old job's begin")
    stop_hard(cluster, "controller", "agent-node1", "agent-node2")
    shutil.rmtree(cluster.dir / "state")
    (cluster.dir / "backup").rename(cluster.dir / "state")
    controller = subprocess.Popen([str(BIN / "musterd"), "-f", str(cluster.dir / "slurm.conf")], env=cluster.env(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: cluster.run("squeue", check=False).code == 0, "the controller")
        new = cluster.sbatch("echo new > new-out", "-w", "node1")
        assert new == old, "nobody could know better"
        cluster.wait_state(new, "RUNNING")
    finally:
        controller.kill()
        controller.wait()
    cluster.run("muster", "up", *cluster.args, "--detach")
    assert cluster.wait_ended(new)["State"] == "COMPLETED"
    assert (cluster.work / "new-out").read_text() == "new\n"
    pid = int((cluster.work / "old-pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z" in Path(f"/proc/{pid}/stat").read_text(), "the old job's end")


@pytest.mark.long
def test_a_job_of_both_an_older_state_and_the_lost_one_runs_on(pair):
    """Only the step that the older state does not know ends; its number is given again, and is another step's."""
    cluster = pair
    jobs = {}
    for name, first in (("runs", "sleep 300"), ("ended", "sleep 3; exit 7")):
        script = (f"touch {name}.up\nwhile [ ! -e {name}.go ]; do sleep 0.1; done\nsrun -n1 sh -c '{first}'; echo first $? >> {name}.log\n"
                  f"while [ ! -e {name}.again ]; do sleep 0.1; done\nsrun -n1 sh -c 'echo ran >> {name}.log; exit 5'; echo second $? >> {name}.log")
        jobs[name] = cluster.sbatch(script, "--no-requeue")
        until((cluster.work / f"{name}.up").exists, "its begin")
    time.sleep(1.5)
    stop_hard(cluster, "controller")
    shutil.copytree(cluster.dir / "state", cluster.dir / "backup")
    cluster.run("muster", "up", *cluster.args, "--detach")
    for name, job in jobs.items():
        (cluster.work / f"{name}.go").touch()
        until(lambda: f"{job}.0" in cluster.run("squeue", "-h", "-s", "-o", "%i").out.split(), "its step")
    stop_hard(cluster, "controller")
    time.sleep(4)  # one of the steps ends
    shutil.rmtree(cluster.dir / "state")
    (cluster.dir / "backup").rename(cluster.dir / "state")
    cluster.run("muster", "up", *cluster.args, "--detach")
    log = cluster.dir / "log" / "controller.log"
    until(lambda: f"has step {jobs['runs']}.0, of which the state here knows nothing: it is an older copy" in log.read_text(), "the node says so")
    until((cluster.work / "runs.log").exists, "the end of the step that nobody knows")
    for name, first in (("runs", 137), ("ended", 7)):
        (cluster.work / f"{name}.again").touch()
        assert cluster.wait_ended(jobs[name])["State"] == "COMPLETED"
        assert (cluster.work / f"{name}.log").read_text() == f"first {first}\nran\nsecond 5\n"


@pytest.mark.long
def test_an_srun_takes_no_other_steps_end_for_its_own(pair):
    """Its step is of the lost state, runs on where nobody reaches it, and its number is given again."""
    cluster = pair
    script = ("touch up\nwhile [ ! -e go ]; do sleep 0.1; done\n(srun -N1 -n1 -w node2 sh -c 'touch lost.up; sleep 300' 2> first.err; echo first $? > first.log) &\n"
              "while [ ! -e again ]; do sleep 0.1; done\nsrun -N1 -n1 -w node1 sh -c 'echo $SLURM_STEP_ID > second.id'; echo second $? > second.log\nwait")
    job = cluster.sbatch(script, "-N2", "--no-requeue")
    until((cluster.work / "up").exists, "its begin")
    time.sleep(1.5)
    stop_hard(cluster, "controller")
    shutil.copytree(cluster.dir / "state", cluster.dir / "backup")
    cluster.run("muster", "up", *cluster.args, "--detach")
    (cluster.work / "go").touch()
    until((cluster.work / "lost.up").exists, "its step")
    agent = cluster.pid("agent-node2")
    os.kill(agent, signal.SIGSTOP)
    try:
        stop_hard(cluster, "controller")
        shutil.rmtree(cluster.dir / "state")
        (cluster.dir / "backup").rename(cluster.dir / "state")
        cluster.run("muster", "up", *cluster.args, "--detach", check=False)  # it misses the node that stands still
        (cluster.work / "again").touch()
        until((cluster.work / "first.log").exists, "the end of the srun whose step is gone")
    finally:
        os.kill(agent, signal.SIGCONT)
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "second.id").read_text() == "0\n", "the number is given again"
    assert (cluster.work / "second.log").read_text() == "second 0\n"
    assert (cluster.work / "first.log").read_text() == "first 1\n"
    assert "of a state of which an older copy was put back" in (cluster.work / "first.err").read_text()


def test_a_stale_pid_file_ends_nobody_elses_controller(pair, own_cluster):
    other = own_cluster(nodes=1)
    pid = other.pid("controller")
    os.kill(pair.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    (pair.dir / "controller.pid").write_text(f"{pid}\n")
    pair.run("muster", "up", *pair.args, "--detach")
    own = pair.pid("controller")
    assert own != pid
    (pair.dir / "controller.pid").write_text(f"{pid}\n")
    pair.down()
    os.kill(own, signal.SIGTERM)  # nobody knew it any more
    os.kill(pid, 0)
    assert other.run("srun", "echo", "alive").out.strip() == "alive"


def test_ended_jobs_survive_a_kill_at_once(pair):
    cluster = pair
    jobs = [cluster.sbatch("true") for _ in range(20)]
    for job in jobs:
        cluster.wait_ended(job)
    for _ in range(3):
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        time.sleep(0.2)
        cluster.run("muster", "up", *cluster.args, "--detach")
        seen = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobID").out.split()
        assert [str(job) for job in jobs] == [job for job in seen if int(job) in jobs]


def write_a_later_epoch(cluster):
    """As another controller that takes the lead does; the answer is its epoch."""
    journal = sqlite3.connect(cluster.dir / "state" / "journal.db", timeout=10)
    with journal:
        journal.execute("BEGIN IMMEDIATE")
        journal.execute("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
    ((epoch,),) = journal.execute("SELECT value FROM meta WHERE name = 'epoch'")
    journal.close()
    return epoch


def test_a_deposed_controller_ends_and_does_not_take_the_lead_back(pair):
    cluster = pair
    (job,) = begun(cluster, 1)
    deposed = cluster.pid("controller")
    epoch = write_a_later_epoch(cluster)
    asking = cluster.popen("sbatch", "--parsable", "--wrap", "true", "-o", "/dev/null")
    until(lambda: deposed not in daemons_of(cluster), "the deposed controller's end", timeout=30)
    words = (cluster.dir / "log" / "controller.log").read_text()
    assert f"another controller leads: epoch {epoch} is newer than ours: this controller ends" in words, words
    # Whatever were to start it again would have done so by now, and nobody but a controller writes there.
    time.sleep(2)
    assert not any(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(b"/musterd") for pid in daemons_of(cluster))
    journal = sqlite3.connect(f"file:{cluster.dir}/state/journal.db?mode=ro", uri=True)
    assert journal.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchall() == [(epoch,)]
    journal.close()
    # Who asked it is answered by the one that comes after it.
    cluster.run("muster", "up", *cluster.args, "--detach")
    out, err = asking.communicate(timeout=60)
    assert asking.returncode == 0, err
    assert cluster.wait_ended(int(out))["State"] == "COMPLETED"
    assert cluster.job(job)["State"] == "RUNNING" and restarts_of(cluster, job) == 0
    assert f"epoch {epoch + 1}: recovered" in (cluster.dir / "log" / "controller.log").read_text()
