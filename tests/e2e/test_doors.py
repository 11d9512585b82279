"""Who may come in, how much of it, and what a careless or hostile guest cannot do to the others."""
import fcntl
import os
import platform
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import BIN, until

STRANGER = 65534
AS_STRANGER = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]


def controller_log(cluster):
    return (cluster.dir / "log" / "controller.log").read_text()


def free_nodes(cluster):
    return cluster.run("sinfo", "-h", "-o", "%t").out.split()


# ---- what a step opens for its user ----

def test_a_fifo_that_nobody_reads_ends_the_job_and_holds_no_node(cluster):
    os.mkfifo(cluster.work / "unread")
    job = cluster.sbatch("true", "-o", "unread")
    assert cluster.wait_ended(job)["State"] == "FAILED"
    until(lambda: set(free_nodes(cluster)) == {"idle"}, "the nodes are free again", 20)
    assert "SystemComment=could not open" in (shown := cluster.run("scontrol", "show", "job", job).out) and "a FIFO that nobody reads from" in shown


def test_a_fifo_that_nobody_writes_is_no_input_to_wait_for(cluster):
    os.mkfifo(cluster.work / "unwritten")
    job = cluster.sbatch("cat", "-i", "unwritten", "-o", "/dev/null")
    assert cluster.wait_ended(job)["State"] == "FAILED"


def test_a_fifo_with_a_reader_is_an_output_like_any_other(cluster):
    os.mkfifo(cluster.work / "read")
    reader = subprocess.Popen(["cat", str(cluster.work / "read")], stdout=subprocess.PIPE, text=True)
    keeper = os.open(cluster.work / "read", os.O_RDWR)  # so that the reader is there before the job
    time.sleep(0.2)
    job = cluster.sbatch("echo through a pipe", "-o", "read")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    os.close(keeper)
    assert reader.communicate(timeout=10)[0] == "through a pipe\n"


# ---- who keeps whom out ----

@pytest.mark.root_only
def test_one_user_cannot_take_all_connections(cluster):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 16384:
        pytest.skip("a process may not have so many connections here")
    path = str(cluster.dir / "controller.sock")
    held = subprocess.Popen(AS_STRANGER + ["/usr/bin/python3", "-c", (
        "import resource, socket, sys, time\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
        "all = []\n"
        "for _ in range(2048):\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); all.append(s)\n"
        "print('held', flush=True); sys.stdin.read()"), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert held.stdout.readline() == "held\n"
        assert cluster.run("sinfo", "-h", timeout=10).code == 0  # everybody else is served
        refused = cluster.run(*AS_STRANGER, "squeue", check=False)
        assert refused.code == 1 and f"too many connections of user {STRANGER}" in refused.err, refused
    finally:
        held.communicate("")
    until(lambda: cluster.run(*AS_STRANGER, "squeue", check=False).code == 0, "the user is served again", 20)


@pytest.mark.root_only
def test_who_dials_and_is_gone_keeps_nobody_out(cluster):
    """A program at its bound may close what is being refused."""
    gone = subprocess.run(AS_STRANGER + ["/usr/bin/python3", "-c", (
        "import resource, socket, sys, time\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
        "def dial():\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); return s\n"
        "held = [dial() for _ in range(min(2048, hard - 100))]\n"
        "time.sleep(1.1)  # so that the next ones are told why\n"
        "for _ in range(50): dial().close(); time.sleep(0.02)\n"), str(cluster.dir / "controller.sock")], capture_output=True, text=True, timeout=60)
    assert gone.returncode == 0, gone.stderr
    assert cluster.run("sinfo", "-h", timeout=10).code == 0
    until(lambda: cluster.run(*AS_STRANGER, "squeue", check=False, timeout=10).code == 0, "the user is served again", 20)


def test_half_a_message_is_no_place_to_sleep(cluster):
    """What is not a whole message holds a connection for two minutes at most; here only that it disturbs nobody meanwhile."""
    sleepers = []
    for _ in range(50):
        sleeper = socket.socket(socket.AF_UNIX)
        sleeper.connect(str(cluster.dir / "controller.sock"))
        sleeper.send(b"\0\0\0\0\xff\xff\x0f\0")  # a segment of 8 MiB, and nothing of it
        sleepers.append(sleeper)
    assert cluster.run("sinfo", "-h").code == 0
    for sleeper in sleepers:
        sleeper.close()


# ---- texts ----

def test_names_are_one_line_and_the_rest_is_shown_as_one(cluster):
    refused = cluster.run("sbatch", "-J", "x\033]0;pwned\a", "--wrap", "true", check=False)
    assert refused.code == 1 and "job name: it has control characters" in refused.err
    job = cluster.run("sbatch", "--parsable", "-H", "--wrap", "echo a\necho b").out.strip()
    assert cluster.run("scontrol", "update", f"jobid={job}", "comment=a\nb", check=False).code == 1
    huge = cluster.run("scontrol", "update", f"jobid={job}", "comment=" + "x" * 100_000, check=False)
    assert huge.code == 1 and "1024 are allowed" in huge.err
    line = cluster.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "JobID,SubmitLine").out
    assert len(line.splitlines()) == 1 and "echo a\\necho b" in line
    cluster.run("scancel", job)


@pytest.mark.root_only
def test_mail_goes_out_with_the_owners_rights(own_cluster):
    with tempfile.TemporaryDirectory(prefix="muster-mail.") as folder:  # pytest's own is closed to others
        mail_as_another_user(own_cluster, Path(folder))


def mail_as_another_user(own_cluster, folder):
    folder.chmod(0o777)
    program = folder / "mail.sh"
    program.write_text(f'#!/bin/sh\nid -u > {folder}/sent.$SLURM_JOB_ID\n')
    program.chmod(0o755)
    cluster = own_cluster(nodes=1, conf={"MailProg": str(program)})
    refused = cluster.run(*AS_STRANGER, "sbatch", "--mail-type=END", "--mail-user=-A/etc/shadow", "--wrap", "true", check=False)
    assert refused.code == 1 and "it begins with a dash" in refused.err
    job = cluster.run(*AS_STRANGER, "sbatch", "--parsable", "--mail-type=END", "--mail-user=ada", "-o", "/dev/null", "--wrap", "true").out.strip()
    sent = folder / f"sent.{job}"
    until(lambda: sent.exists() and sent.read_text(), "the mail", 20)
    assert sent.read_text().strip() == str(STRANGER)


# ---- operators ----

@pytest.mark.root_only
def test_operators_are_those_that_the_configuration_names(own_cluster):
    cluster = own_cluster(nodes=1, conf={"MusterOperators": "nobody"})
    drain = ["scontrol", "update", "nodename=node1", "state=drain", "reason=test"]
    assert cluster.run(*AS_STRANGER, *drain).code == 0
    other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
    refused = cluster.run(*other, *drain, check=False)
    assert refused.code == 1 and "denied" in refused.err
    job = cluster.sbatch("true", "--hold")
    assert "Access/permission denied" in cluster.run(*other, "scancel", job, check=False).err
    assert cluster.run(*AS_STRANGER, "scancel", job).code == 0


@pytest.mark.root_only
def test_slurm_user_may_what_an_operator_may(own_cluster):
    cluster = own_cluster(nodes=1)
    as_other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
    job = cluster.sbatch("sleep 300", "-o", "/dev/null")
    cluster.wait_state(job, "RUNNING")
    drain = ["scontrol", "update", "nodename=node1", "state=drain", "reason=test"]
    resume = ["scontrol", "update", "nodename=node1", "state=resume"]

    def is_refused(who):
        update = ["scontrol", "update", f"jobid={job}", "timelimit=7"]
        asked = [cluster.run(*who, *words, check=False) for words in (drain, update, ["scancel", job])]
        return all("denied" in refused.err for refused in asked)

    assert is_refused(AS_STRANGER), "without a line in slurm.conf he is a user like any other"
    conf = cluster.dir / "slurm.conf"
    conf.write_text(conf.read_text() + "SlurmUser=nobody\n")
    cluster.run("scontrol", "reconfigure")
    shown = lambda: cluster.run("scontrol", "show", "config", check=False).out
    until(lambda: re.search(rf"^SlurmUser += nobody\({STRANGER}\)$", shown(), re.M), "it is read")
    assert is_refused(as_other)
    assert cluster.job(job)["State"] == "RUNNING" and free_nodes(cluster) != ["drng"]
    cluster.run(*AS_STRANGER, *drain)
    assert free_nodes(cluster) == ["drng"]
    cluster.run(*AS_STRANGER, *resume)
    waiting = cluster.sbatch("true", "--hold")
    cluster.run(*AS_STRANGER, "scontrol", "update", f"jobid={waiting}", "priority=100", "timelimit=7")
    cluster.run(*AS_STRANGER, "scancel", job, waiting)
    assert cluster.wait_ended(job)["State"] == f"CANCELLED by {STRANGER}"


# ---- the controller's own files ----

def test_a_state_folder_or_a_configuration_that_others_may_open_is_refused(own_cluster):
    cluster = own_cluster(nodes=1)
    conf = cluster.dir / "slurm.conf"
    start = lambda: subprocess.run([str(BIN / "musterd"), "-f", str(conf)], capture_output=True, text=True, timeout=30)
    cluster.down()
    assert oct((cluster.dir / "state").stat().st_mode & 0o777) == "0o700"
    assert all(file.stat().st_mode & 0o077 == 0 for file in (cluster.dir / "state").iterdir())
    (cluster.dir / "state").chmod(0o755)
    refused = start()
    assert refused.returncode == 1 and "is open to others: chmod 700" in refused.stderr, refused
    (cluster.dir / "state").chmod(0o700)
    conf.chmod(0o666)
    refused = start()
    assert refused.returncode == 1 and "can be written by others: chmod go-w" in refused.stderr, refused
    conf.chmod(0o644)
    cluster.up()


def test_muster_up_says_so_when_the_controller_does_not_stay(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.down()
    (cluster.dir / "state").chmod(0o755)
    failed = cluster.run("muster", "up", *cluster.args, "--detach", check=False, timeout=60)
    assert failed.code != 0 and "the controller ended" in failed.err and "is open to others" in failed.err, failed
    (cluster.dir / "state").chmod(0o700)
    cluster.up()


def test_a_job_is_dropped_while_no_controller_runs(own_cluster):
    cluster = own_cluster(nodes=1)
    running = cluster.sbatch("sleep 300", "-o", "/dev/null")
    waiting = cluster.sbatch("true", "--hold")
    cluster.wait_state(running, "RUNNING")
    drop = lambda job: subprocess.run([str(BIN / "musterd"), "-f", str(cluster.dir / "slurm.conf"), "--drop-job", str(job)],
                                      capture_output=True, text=True, timeout=30)
    assert "stop it first" in drop(running).stderr  # not beside a controller
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    until(lambda: drop(waiting).returncode == 0, "the controller is gone", 10)
    assert drop(running).returncode == 0
    assert "has ended" in drop(running).stderr and "there is no job 99" in drop(99).stderr
    cluster.up()
    for job in (running, waiting):
        assert cluster.job(job)["State"].startswith("CANCELLED")
    until(lambda: free_nodes(cluster) == ["idle"], "what it left on the node is gone", 30)
    assert "differ" not in cluster.run("muster", "check", "--dir", str(cluster.dir)).out


# ---- a start that dies of a job ----

# As src/env/posix/crash_note.cc lays it out: a mark, of which job this run died, of which the runs before, how many of them,
# when this one began by the machine's steady clock, how many seconds it lived.
CRASH_NOTE = struct.Struct("=IIIIqq")


def die_of(cluster, job):
    """The controller ends, and its note is what the handler of a fatal signal would have written: who it was."""
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    with open(cluster.dir / "state" / "controller.lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it is gone
    note = cluster.dir / "state" / "crash_note"
    mark, died_of, suspect, deaths, opened, _ = CRASH_NOTE.unpack(note.read_bytes())
    assert died_of == 0, "while it lived it had died of nothing"
    note.write_bytes(CRASH_NOTE.pack(mark, job, suspect, deaths, opened, 1))


def test_a_job_that_two_starts_died_of_is_held_and_the_others_go_on(own_cluster):
    cluster = own_cluster(nodes=1, cpus=1)
    running = cluster.sbatch("sleep 300", "-o", "/dev/null")
    cluster.wait_state(running, "RUNNING")
    job = cluster.sbatch("true", "-o", "/dev/null")
    other = cluster.sbatch("true", "-o", "/dev/null")
    reason = lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%T %r").out.strip()
    died_of_it = f"the controller stopped twice while it worked on job {job}"
    die_of(cluster, job)
    cluster.up()
    assert f"the last run ended while it worked on job {job}: 1 in a row" in controller_log(cluster)
    assert reason() != "PENDING JobHeldAdmin" and died_of_it not in controller_log(cluster), "once may be chance"
    die_of(cluster, job)
    cluster.up()
    assert f"the last run ended while it worked on job {job}: 2 in a row" in controller_log(cluster)
    assert f"{died_of_it}: it is held. Release it with `scontrol release {job}`, or cancel it" in controller_log(cluster)
    assert reason() == "PENDING JobHeldAdmin"
    assert f"AdminComment=held: {died_of_it}\n" in cluster.run("scontrol", "show", "job", job).out
    cluster.run("scancel", running)
    assert cluster.wait_ended(other)["State"] == "COMPLETED"
    assert reason() == "PENDING JobHeldAdmin"
    cluster.run("scontrol", "release", job)
    assert cluster.wait_ended(job)["State"] == "COMPLETED"


def test_a_job_that_has_begun_and_ends_each_start_can_be_dropped(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 300", "-o", "/dev/null")
    cluster.wait_state(job, "RUNNING")
    for _ in range(2):
        die_of(cluster, job)
        cluster.up()
    cannot = f"worked on job {job}, which has begun and cannot be held: if it does so again, stop it and run "
    way_out = re.search(f"{cannot}`musterd (.*)`", controller_log(cluster))
    assert cluster.job(job)["State"] == "RUNNING"
    die_of(cluster, job)
    dropped = cluster.run("musterd", "-f", cluster.dir / "slurm.conf", *way_out.group(1).split())
    assert f"job {job} is dropped: it ended as CANCELLED" in dropped.err
    cluster.up()
    assert f"worked on job {job}, which is not in its state" in controller_log(cluster)
    assert cluster.job(job)["State"].startswith("CANCELLED")
    until(lambda: free_nodes(cluster) == ["idle"], "what it left on the node is gone", 30)
    assert cluster.wait_ended(cluster.sbatch("true", "-o", "/dev/null"))["State"] == "COMPLETED"


# ---- the programs ----

@pytest.mark.parametrize("program", ["musterd", "muster-agent", "muster-stepd", "muster"])
def test_programs_are_hardened(program):
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf (binutils)")
    read = lambda *options: subprocess.run(["readelf", "-W", *options, str(BIN / program)], capture_output=True, text=True, check=True).stdout
    assert "Type:                              DYN" in read("-h"), "position-independent"
    assert "GNU_RELRO" in read("-l") and re.search(r"FLAGS_1.*\bNOW\b", read("-d")), "all relocations are read-only from the start on"
    stack = next(line for line in read("-l").splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack, "no code on the stack"
    symbols = read("--dyn-syms")
    assert "__stack_chk_fail" in symbols, "canaries"
    assert re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", "")), "checked copies"


@pytest.mark.parametrize("program", ["musterd", "muster-agent", "muster-stepd", "muster"])
def test_own_functions_are_marked_as_jump_targets(program):
    """The libraries that are linked statically are not, so that the program's notes promise nothing."""
    if shutil.which("readelf") is None or platform.machine() != "x86_64":
        pytest.skip("needs readelf (binutils) and an x86-64")
    ask = lambda option: subprocess.run(["readelf", "-W", option, str(BIN / program)], capture_output=True, text=True, check=True)
    read = lambda option: ask(option).stdout
    bytes_of = (BIN / program).read_bytes()
    sections = [[int(number, 16) for number in found] for found in re.findall(r"PROGBITS +(\w+) (\w+) (\w+)", read("-S"))]
    own = re.findall(r"^ +\d+: (\w+) +\d+ FUNC +GLOBAL +\w+ +\d+ (main|_ZN6muster\w+)$", read("-s"), re.M)
    assert "main" in dict(own).values() and len(own) > 100
    unmarked = []
    for address, name in ((int(address, 16), name) for address, name in own):
        place = next(offset + address - begin for begin, offset, size in sections if begin <= address < begin + size)
        if bytes_of[place:place + 4] != b"\xf3\x0f\x1e\xfa":  # endbr64
            unmarked.append(name)
    assert not unmarked


@pytest.mark.root_only
def test_a_folder_of_another_user_is_no_place_for_a_cluster(own_cluster, tmp_path):
    theirs = tmp_path / "theirs"
    (theirs / "log").mkdir(parents=True)
    victim = tmp_path / "victim"
    (theirs / "log" / "controller.log").symlink_to(victim)
    shutil.chown(theirs, STRANGER, STRANGER)
    up = lambda folder: subprocess.run([str(BIN / "muster"), "up", "--dir", str(folder), "--detach"], capture_output=True, text=True, timeout=60)
    refused = up(theirs)
    assert refused.returncode != 0 and f"the cluster's folder {theirs} belongs to uid {STRANGER}" in refused.stderr, refused
    assert not victim.exists()
    cluster = own_cluster(nodes=1)
    cluster.down()
    spool = cluster.dir / "spool" / "node1"
    shutil.chown(spool, STRANGER, STRANGER)
    refused = up(cluster.dir)
    assert refused.returncode != 0 and "the agent-node1 ended" in refused.stderr and f"the spool {spool} belongs to uid {STRANGER}" in refused.stderr, refused
    shutil.chown(spool, 0, 0)
    cluster.up()


@pytest.mark.root_only
def test_a_script_is_written_over_no_link(own_cluster):
    cluster = own_cluster(nodes=1)
    victim = cluster.base / "victim"
    victim.write_text("precious")
    next_job = int(cluster.sbatch("true", "-o", "/dev/null")) + 1
    folder = cluster.dir / "spool" / "node1" / f"job{next_job:05}.0"
    folder.mkdir()
    (folder / "slurm_script").symlink_to(victim)
    assert cluster.wait_ended(cluster.sbatch("true", "-o", "/dev/null"))["State"] == "COMPLETED"
    assert victim.read_text() == "precious" and victim.stat().st_uid == 0


# ---- whose fault it is ----

def test_a_link_to_itself_in_a_users_storage_drains_no_node(own_cluster):
    cluster = own_cluster(nodes=2)
    storage = cluster.base / "storage"
    (cluster.work / "e.yaml").write_text(
        f"name: loop\nentrypoint: 'true'\nmax_restarts: 0\ncheckpoint_storage: {{type: shared_fs, host_path: {storage}}}\n"
        "searcher: {name: single, metric: m, max_length: {batches: 1}}\n")
    (cluster.work / "model").mkdir()
    (cluster.work / "model" / "train.py").write_text("")
    cluster.run("muster", "experiment", "create", "e.yaml", "model", "--paused")
    folder = re.search(r"Folder: (\S+)", cluster.run("muster", "experiment", "describe", 1).out).group(1)
    code = Path(folder) / "trial-1" / "code"
    code.parent.mkdir(parents=True)
    code.symlink_to("code")
    cluster.run("muster", "experiment", "activate", 1)
    until(lambda: "ERROR" in cluster.run("muster", "experiment", "list").out, "the experiment ends", 30)
    assert set(free_nodes(cluster)) == {"idle"}, controller_log(cluster)


# ---- too little, or nobody who answers ----

def test_too_few_open_files_are_refused_by_name(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.down()
    up = cluster.run("bash", "-c", f"ulimit -n 64; exec muster up --dir {cluster.dir} --detach", check=False)
    assert up.code == 1 and "64 open files are allowed at most, and 256 are needed" in up.err and "ulimit -n" in up.err, up
    agent = cluster.run("bash", "-c", f"ulimit -n 64; exec muster-agent -f {cluster.dir}/slurm.conf -N node1", check=False)
    assert agent.code == 1 and "256 are needed" in agent.err, agent


def test_srun_without_descriptors_says_so_and_ends(own_cluster):
    cluster = own_cluster(nodes=1)
    for files in (8, 16, 31):
        ran = cluster.run("bash", "-c", f"ulimit -n {files}; exec srun true", check=False, timeout=30)
        assert ran.code == 1 and f"{files} open files are allowed at most, and 32 are needed" in ran.err, ran
    assert cluster.run("bash", "-c", "ulimit -n 32; exec srun true").code == 0
    # The tasks have the limit that was found, not the one that srun takes for itself.
    told = cluster.run("bash", "-c", "ulimit -Sn 48; exec srun bash -c 'ulimit -Sn'").out
    assert told == "48\n"


def test_srun_and_salloc_are_not_kept_by_a_controller_that_is_gone(own_cluster):
    cluster = own_cluster(nodes=1)
    start = lambda *words: subprocess.Popen(words, env=cluster.env(), cwd=cluster.work, stderr=subprocess.PIPE, text=True)
    waiting = start(BIN / "srun", "--begin=now+1hour", "true")
    until(lambda: cluster.run("squeue", "-h").out, "the first is there")
    holding = start(BIN / "salloc", "sh", "-c", "touch began; sleep 2")
    until((cluster.work / "began").exists, "salloc's command has begun")
    controller = cluster.pid("controller")
    os.kill(controller, signal.SIGSTOP)
    try:
        waiting.send_signal(signal.SIGINT)
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        said = waiting.communicate(timeout=10)[1]
        assert waiting.returncode == 1 and "the controller does not answer: job 1 ends when" in said, said
        assert "the controller does not answer: job 2 ends when" in holding.communicate(timeout=30)[1]
        assert holding.returncode == 0
    finally:
        os.kill(controller, signal.SIGCONT)


def test_a_controller_that_stands_still_is_ended_all_the_same(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 300", "-o", "/dev/null")
    cluster.wait_state(job, "RUNNING")
    controller = cluster.pid("controller")
    os.kill(controller, signal.SIGSTOP)
    down = cluster.run("muster", "down", "--dir", cluster.dir, timeout=50, check=False)
    assert down.code == 1 and "does not answer" in down.err and "1 of its steps run on (supervisors: " in down.err, down
    until(lambda: not os.path.exists(f"/proc/{controller}"), "its end")
    cluster.up()
    assert cluster.job(job)["State"] == "RUNNING"
    assert cluster.run("muster", "down", "--dir", cluster.dir, timeout=50).code == 0


@pytest.mark.parametrize("command", ["srun", "salloc"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_submission_that_nobody_answers_can_be_ended(cluster, command, number):
    controller = cluster.pid("controller")
    os.kill(controller, signal.SIGSTOP)
    try:
        asking = subprocess.Popen([str(BIN / command), "true"], env=cluster.env(), cwd=cluster.work, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        assert asking.poll() is None
        asking.send_signal(number)
        assert asking.wait(timeout=5) == -number
    finally:
        os.kill(controller, signal.SIGCONT)


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_spool_that_is_removed_under_its_agent_drains_the_node(own_cluster, is_moved):
    cluster = own_cluster(nodes=2)
    spool = cluster.dir / "spool" / "node2"
    os.rename(spool, f"{spool}.old") if is_moved else shutil.rmtree(spool)
    job = cluster.sbatch("true", "--requeue", "-w", "node2", "-o", "/dev/null")
    until(lambda: "drain" in cluster.run("sinfo", "-h", "-N", "-n", "node2", "-o", "%t").out, "the node is drained", 20)
    assert "was removed or moved while this agent runs" in cluster.run("sinfo", "-h", "-N", "-n", "node2", "-o", "%E").out
    assert cluster.wait_ended(cluster.sbatch("true", "-o", "/dev/null"))["State"] == "COMPLETED"  # the other node serves
    os.kill(cluster.pid("agent-node2"), signal.SIGKILL)
    cluster.up()
    assert cluster.wait_ended(job, 60)["State"] == "COMPLETED"
