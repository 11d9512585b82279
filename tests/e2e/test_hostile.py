"""What a site meets sooner or later: full disks, nonsense on sockets, silent nodes, crowds, scripts that are none."""
import os
import random
import selectors
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import BIN, end_cluster, make_cluster, until
from test_http import Web


def node_state(cluster, node="node1"):
    return cluster.run("sinfo", "-h", "-N", "-n", node, "-o", "%t").out.strip()


def controller_log(cluster):
    return (cluster.dir / "log" / "controller.log").read_text()


# ---- a full disk ----

@contextmanager
def small_disk(folder, size):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder):
    """Takes all the room there is, to the last page."""
    filler = os.open(folder / "filler", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    size = 1 << 20
    while size >= 4096:
        try:
            os.write(filler, b"x" * size)
        except OSError:
            size //= 2
    os.close(filler)


@pytest.fixture
def tight_cluster():
    """One whose state lies on a disk of 40 MiB, the reserve on it."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("this host forbids mounting")
    cluster = make_cluster(nodes=1)
    cluster.down()
    state = cluster.dir / "state"
    for file in state.iterdir():
        file.unlink()
    try:
        with small_disk(state, "40m"):
            cluster.up()
            until((state / "journal.reserve").exists)
            yield cluster
            cluster.down()
    finally:
        end_cluster(cluster)


@pytest.mark.root_only
def test_a_full_disk_refuses_new_work_and_loses_no_end(tight_cluster):
    cluster = tight_cluster
    state = cluster.dir / "state"
    pid = cluster.pid("controller")
    first = cluster.sbatch("sleep 5; exit 3")
    second = cluster.sbatch("until test -e go; do sleep 0.1; done; exit 4")
    cluster.wait_state(first, "RUNNING")
    cluster.wait_state(second, "RUNNING")
    waiting = cluster.sbatch("true", "-n", "4")
    fill(state)
    accepted = []
    script = "#!/bin/sh\n#" + "x" * 50_000 + "\n"
    while (answer := cluster.run("sbatch", "--parsable", stdin=script, check=False)).code == 0:
        accepted.append(int(answer.out))  # into pages that the journal had already
        assert len(accepted) < 100
    assert answer.code == 1 and "Unable to write to the controller's disk" in answer.err and "is full" in answer.err
    web = Web(cluster)
    assert "is full" in web.ask("GET", "/readyz", check=503)["error"]["error"] and web.ask("GET", "/livez") == {"status": "ok"}
    # Reading goes on, and the reserve has room for the ends of what runs.
    assert cluster.run("squeue", "-h", "-j", first).code == 0
    assert "nothing is started: Unable to write to the controller's disk" in cluster.run("muster", "why", waiting).out
    assert cluster.wait_ended(first, timeout=30)["ExitCode"] == "3:0"
    assert cluster.run("sbatch", stdin=script, check=False).code == 1
    # Somebody takes the reserve as well: the end waits with the node.
    fill(state)
    (cluster.work / "go").touch()
    time.sleep(1.5)
    (state / "filler").unlink()
    until(lambda: cluster.run("squeue", "-h", check=False).code == 0, timeout=30)
    assert cluster.wait_ended(second)["ExitCode"] == "4:0"
    after = until(lambda: cluster.run("sbatch", "--parsable", "--wrap", "true", check=False).out.strip())
    assert after, "there is room again and nothing is taken"
    assert web.ask("GET", "/readyz") == {"status": "ok"}
    for job in accepted + [waiting, int(after)]:
        assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert cluster.pid("controller") == pid
    cluster.run("muster", "check", "--dir", cluster.dir)


@pytest.fixture
def tight_node():
    """Two nodes, the spool of the first on a disk of 24 MiB."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("this host forbids mounting")
    cluster = make_cluster(nodes=2)
    cluster.down()
    spool = cluster.dir / "spool" / "node1"
    for file in spool.iterdir():
        file.unlink()
    try:
        with small_disk(spool, "24m"):
            cluster.up()
            yield cluster
            cluster.down()
    finally:
        end_cluster(cluster)


@pytest.mark.root_only
def test_a_node_whose_disk_is_full_takes_one_job_and_no_more(tight_node):
    cluster = tight_node
    spool = cluster.dir / "spool" / "node1"
    fill(spool)
    script = "echo ran on $SLURMD_NODENAME"
    jobs = [cluster.sbatch(script, "-o", "0.out")]
    until(lambda: node_state(cluster, "node1") == "drain")  # what was submitted before that may have been on its way to the node
    jobs += [cluster.sbatch(script, "-o", f"{i}.out") for i in range(1, 6)]
    for job in jobs:
        assert cluster.wait_ended(job)["State"] == "COMPLETED"
    for i in range(len(jobs)):
        assert (cluster.work / f"{i}.out").read_text() == "ran on node2\n"
    only = cluster.sbatch("true", "-w", "node1")
    assert node_state(cluster, "node1") == "drain"
    assert "Node fault: " in cluster.run("scontrol", "show", "node", "node1").out
    time.sleep(8)  # the agent has looked, and it is full all the same
    assert node_state(cluster, "node1") == "drain"
    assert cluster.run("squeue", "-h", "-o", "%T", "-j", only).out == "PENDING\n"
    # An operator's reason is not hidden by it, and does not end with it.
    cluster.run("scontrol", "update", "nodename=node1", "state=drain", "reason=new fan")
    assert "Reason=new fan" in cluster.run("scontrol", "show", "node", "node1").out
    (spool / "filler").unlink()
    time.sleep(8)
    assert node_state(cluster, "node1") == "drain"
    cluster.run("scontrol", "update", "nodename=node1", "state=resume")
    assert cluster.wait_ended(only, timeout=30)["State"] == "COMPLETED"
    runs = cluster.run("sacct", "-n", "-X", "-D", "-o", "JobID,NodeList").out
    assert runs.count("node1") == 1 + 1, runs  # the first one's, and of the one that asked for it


@pytest.mark.root_only
def test_a_start_on_a_full_disk_gives_up_the_reserve(tight_cluster):
    cluster = tight_cluster
    state = cluster.dir / "state"
    job = cluster.sbatch("until test -e go; do sleep 0.1; done; exit 4")
    cluster.wait_state(job, "RUNNING")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    fill(state)
    cluster.up()
    assert not (state / "journal.reserve").exists() and "the reserve is given up for it" in controller_log(cluster)
    (cluster.work / "go").touch()
    assert cluster.wait_ended(job, timeout=30)["ExitCode"] == "4:0"
    refused = until(lambda: (answer := cluster.run("sbatch", "--wrap", "true", check=False)).code and answer)
    assert "Unable to write to the controller's disk" in refused.err
    (state / "filler").unlink()
    assert until(lambda: cluster.run("sbatch", "--parsable", "--wrap", "true", check=False).out.strip())
    cluster.run("muster", "check", "--dir", cluster.dir)


@pytest.mark.root_only
def test_a_start_without_any_room_waits_for_some(tight_cluster):
    cluster = tight_cluster
    state = cluster.dir / "state"
    job = cluster.sbatch("exit 4", "-H")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    fill(state)
    (state / "journal.reserve").unlink()
    fill(state)
    up = subprocess.Popen([str(BIN / "muster"), "up", *cluster.args, "--detach"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: "waiting for room" in controller_log(cluster), "the start to wait")
    time.sleep(2)
    pid = cluster.pid("controller")
    os.kill(pid, 0)
    (state / "filler").unlink()
    assert up.wait(timeout=60) == 0, up.stderr.read()
    assert cluster.pid("controller") == pid
    cluster.run("scontrol", "release", job)
    assert cluster.wait_ended(job, timeout=30)["ExitCode"] == "4:0"


def test_a_damaged_script_is_run_by_nobody(own_cluster):
    cluster = own_cluster(nodes=1)
    script = "echo would remove dir-A"
    job = cluster.sbatch(script, "-H")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    change = "UPDATE blobs SET bytes = CAST(replace(CAST(bytes AS TEXT), 'dir-A', 'dir-C') AS BLOB) WHERE instr(bytes, 'dir-A') > 0"
    until(lambda: has_changed_alone(cluster.dir / "state/journal.db", change), "the controller to let go of its journal")
    checked = cluster.run("musterd", "-f", cluster.dir / "slurm.conf", "--check", check=False)
    assert checked.code == 1 and f"is damaged; jobs that need it: {job}\n" in checked.out, checked
    cluster.up()
    cluster.run("scontrol", "release", job)
    ended = cluster.wait_ended(job)
    assert ended["State"] == "FAILED" and "is damaged" in cluster.run("scontrol", "show", "job", job).out
    for _ in range(2):  # by the same controller, and by the next
        again = cluster.sbatch(script)
        assert cluster.wait_ended(again)["State"] == "COMPLETED"
        assert (cluster.work / f"slurm-{again}.out").read_text() == "would remove dir-A\n"
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        cluster.up()


def test_a_damaged_batch_is_named_and_nothing_starts_on_it(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("true")
    cluster.wait_ended(job)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    database = cluster.dir / "state/journal.db"
    with sqlite3.connect(database) as reader:
        seq, record = reader.execute("SELECT seq, record FROM batches ORDER BY seq DESC LIMIT 1").fetchone()
    reader.close()
    damaged = bytearray(record)
    damaged[len(damaged) // 2] ^= 1
    change = "UPDATE batches SET record = ? WHERE seq = ?"
    until(lambda: has_changed_alone(database, change, (bytes(damaged), seq)), "the controller to let go of its journal")
    for words in (("muster", "check", "--dir", cluster.dir), ("musterd", "-f", cluster.dir / "slurm.conf")):
        said = cluster.run(*words, check=False)
        assert said.code == 1 and f"batch {seq}" in said.out + said.err, said
    until(lambda: has_changed_alone(database, change, (record, seq)), "nobody to hold the journal")
    cluster.up()
    assert cluster.run("sacct", "-X", "-n", "-j", job, "-o", "State").out.split() == ["COMPLETED"]


def test_a_damaged_record_of_history_hides_no_other(own_cluster):
    cluster = own_cluster(nodes=1, conf={"MinJobAge": "2"})
    jobs = [cluster.sbatch("true") for _ in range(3)]
    for job in jobs:
        cluster.wait_ended(job)
    until(lambda: all(cluster.run("scontrol", "show", "job", job, check=False).code != 0 for job in jobs), "memory to forget them", timeout=60)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    database = cluster.dir / "state/history.db"
    with sqlite3.connect(database) as reader:
        record = bytearray(reader.execute("SELECT record FROM jobs WHERE job = ?", (jobs[1],)).fetchone()[0])
    reader.close()
    record[len(record) // 2] ^= 1
    change = ("UPDATE jobs SET record = ? WHERE job = ?", (bytes(record), jobs[1]))
    until(lambda: has_changed_alone(database, *change), "the controller to let go of history")
    cluster.up()
    listed = cluster.run("sacct", "-X", "-n", "-o", "JobID", check=False)
    assert listed.out.split() == [str(jobs[0]), str(jobs[2])], listed
    assert listed.code == 1 and f"one record of history cannot be read and is not shown: it is of job {jobs[1]}, attempt 0" in listed.err, listed
    checked = cluster.run("muster", "check", "--dir", cluster.dir, check=False)
    assert checked.code == 1 and f"found: the record of job {jobs[1]} (attempt 0) in history is damaged" in checked.out, checked
    assert cluster.run("sacct", "-X", "-n", "-j", jobs[0], "-o", "State").out.split() == ["COMPLETED"]


# ---- nonsense on sockets ----

def frames():
    """Bytes that no peer of ours would send, for sockets of both kinds."""
    rng = random.Random(1)
    yield "noise", rng.randbytes(4096)
    yield "zeros", bytes(4096)
    yield "half a message", struct.pack("<II", 0, 64) + b"\0" * 20
    yield "very many segments", struct.pack("<I", 0xFFFFFFFE) + b"\xff" * 64
    yield "a huge segment", struct.pack("<II", 0, 0x7FFFFFFF) + b"\0" * 64
    yield "a huge frame", struct.pack("<I", 0xFFFFFFFF) + b"\0" * 64
    yield "a pointer beyond the end", struct.pack("<II", 0, 1) + struct.pack("<Q", 0x0001FFFF_FFFFFFFC)
    yield "an endless list", struct.pack("<II", 0, 2) + struct.pack("<QQ", 0x1, 0xFFFFFFFF_00000001)
    yield "text", b"GET / HTTP/1.1\r\nHost: muster\r\n\r\n"
    yield "nothing", b""


def dial(path):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(5)
    # By the folder's descriptor: a path of more than 107 bytes is no address.
    folder = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY)
    try:
        link.connect(f"/proc/self/fd/{folder}/{Path(path).name}")
    finally:
        os.close(folder)
    return link


def pester(path):
    """Every kind of nonsense, ended at once, after a while, and never. The answer is what must be kept open."""
    kept = []
    for _, data in frames():
        for how in ("close", "half", "stay"):
            try:
                link = dial(path)
                link.sendall(data)
                if how == "half":
                    link.shutdown(socket.SHUT_WR)
                if how == "close":
                    link.close()
                else:
                    kept.append(link)
            except OSError:
                pass  # thrown out before we were done: as good
    for _ in range(50):  # one byte each, and no more
        try:
            kept.append(dial(path))
            kept[-1].sendall(b"\1")
        except OSError:
            pass
    return kept


def test_nonsense_on_every_socket_disturbs_nobody(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 6; echo done", "-o", "quiet.out")
    cluster.wait_state(job, "RUNNING")
    pids = {name: cluster.pid(name) for name in ("controller", "agent-node1")}
    sockets = [cluster.dir / "controller.sock", cluster.dir / "agents.sock", cluster.dir / "spool/node1/agent.sock"]
    for path in sockets:
        assert path.is_socket(), path
        kept = pester(path)
        assert cluster.run("squeue", "-h", "-o", "%i %T", timeout=10).out == f"{job} RUNNING\n", path
        assert cluster.run("srun", "--overcommit", "echo", "here", timeout=20).out == "here\n", path
        for link in kept:
            link.close()
    assert node_state(cluster) in ("mix", "alloc", "idle")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "quiet.out").read_text() == "done\n"
    for name, pid in pids.items():
        assert cluster.pid(name) == pid
        os.kill(pid, 0)
    assert "starting again" not in controller_log(cluster)


def test_nonsense_on_the_streams_of_a_step_disturbs_nobody(cluster, tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    # Its door is there from the beginning until all supervisors are in.
    srun = subprocess.Popen([BIN / "srun", "-n2", "--begin=now+6", "sh", "-c", "read line; echo got $line; exit 5"], cwd=cluster.work, text=True,
                            env=cluster.env(TMPDIR=str(folder)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    path = until(lambda: next(folder.glob("muster-srun-*/io"), None))
    assert path, "srun listens nowhere"
    kept = pester(path)
    time.sleep(0.5)
    wrong = dial(path)  # a hello with a key that is not the step's
    wrong.sendall(struct.pack("<B3xII", 1, 0, 3) + b"x 0")
    wrong.settimeout(5)
    assert wrong.recv(1) == b""
    assert path.exists(), "it was tried too late"
    out, err = srun.communicate("over here\n", timeout=30)
    assert out == "got over here\n" * 2 and srun.returncode == 5, err
    for link in kept:
        link.close()


# ---- a crowd ----

class Recording:
    """What one client and the controller say to each other, in turns, so that it can be said again without a client."""

    def __init__(self, cluster, *words):
        self.target = str(cluster.dir / "controller.sock")
        self.turns = []  # bytes of the client, number of bytes that answer them
        folder = cluster.base / "proxy"
        folder.mkdir(exist_ok=True)
        text = (cluster.dir / "slurm.conf").read_text()
        (folder / "slurm.conf").write_text(text.replace(f"MusterController=unix:{self.target}", f"MusterController=unix:{folder}/p.sock"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "p.sock"))
            listener.listen(1)
            client = subprocess.Popen([str(BIN / words[0]), *map(str, words[1:])], stdout=subprocess.PIPE, text=True,
                                      env=cluster.env(SLURM_CONF=str(folder / "slurm.conf")))
            peer, _ = listener.accept()
            self.relay(peer)
            self.text = client.communicate(timeout=20)[0]
            assert client.returncode == 0

    def relay(self, peer):
        server = dial(self.target)
        with peer, server, selectors.DefaultSelector() as selector:
            selector.register(peer, selectors.EVENT_READ)
            selector.register(server, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(20):
                    try:
                        data = key.fileobj.recv(1 << 20)
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        return
                    if key.fileobj is peer:
                        if not self.turns or self.turns[-1][1] > 0:
                            self.turns.append([b"", 0])
                        self.turns[-1][0] += data
                        server.sendall(data)
                    else:
                        self.turns[-1][1] += len(data)
                        peer.sendall(data)

    def say(self, link):
        """True when the controller answered as it did the client."""
        for data, size in self.turns:
            link.sendall(data)
            while size > 0:
                answer = link.recv(size)
                if not answer:
                    return False
                size -= len(answer)
        return True


def test_two_thousand_pollers_do_not_keep_work_out(own_cluster):
    cluster = own_cluster(nodes=1, cpus=8)
    held = cluster.sbatch("true", "--hold")
    poll = Recording(cluster, "squeue", "-h", "-j", held, "-o", "%i %T")
    assert poll.text == f"{held} PENDING\n" and poll.turns
    crowd, answered, stop = [], [0], threading.Event()

    def keep_polling(links):
        while not stop.is_set():
            for i, link in enumerate(links):
                if stop.is_set():
                    return
                link.close()
                links[i] = dial(poll.target)
                links[i].settimeout(30)
                answered[0] += poll.say(links[i])

    try:
        for _ in range(2000):
            crowd.append(dial(poll.target))
            crowd[-1].settimeout(30)
            assert poll.say(crowd[-1]), f"client {len(crowd)} was sent away"
        threads = [threading.Thread(target=keep_polling, args=(crowd[i::4],), daemon=True) for i in range(4)]
        for thread in threads:
            thread.start()
        jobs = [cluster.sbatch("true") for _ in range(10)]
        for job in jobs:
            assert cluster.wait_ended(job)["State"] == "COMPLETED"
        until(lambda: answered[0] > 200, "the pollers are answered")
        stop.set()
        for thread in threads:
            thread.join(timeout=60)
    finally:
        stop.set()
        for link in crowd:
            link.close()
    assert cluster.run("squeue", "-h", "-o", "%i").out == f"{held}\n"


# ---- a silent node ----

def test_a_node_that_stays_silent_is_down_and_its_jobs_fail_or_go_back(own_cluster):
    cluster = own_cluster(nodes=2, conf={"SlurmdTimeout": "7"})
    marker = f"29{os.getpid()}"  # of the sleeps of this test alone
    back = cluster.sbatch(f"echo run ${{SLURM_RESTART_COUNT:-0}} on $SLURMD_NODENAME; sleep {marker}", "-w", "node2", "-o", "back.out",
                          "--open-mode=append")
    lost = cluster.sbatch(f"sleep {marker}", "-w", "node2", "--no-requeue")
    for job in (back, lost):
        cluster.wait_state(job, "RUNNING")
    agent = cluster.pid("agent-node2")
    os.kill(agent, signal.SIGSTOP)
    try:
        until(lambda: node_state(cluster, "node2").endswith("*"), lambda: node_state(cluster, "node2"), timeout=8)
        assert cluster.job(lost)["State"] == "RUNNING"  # not before SlurmdTimeout
        assert cluster.wait_ended(lost, timeout=15)["State"] == "NODE_FAIL"
        assert node_state(cluster, "node2") == "down*"
        assert "Not responding" in cluster.run("scontrol", "show", "node", "node2").out
        assert cluster.run("squeue", "-h", "-o", "%T", "-j", back).out == "PENDING\n"
    finally:
        os.kill(agent, signal.SIGCONT)
    # It comes back, is rid of what ran there, and runs the job anew.
    output = cluster.work / "back.out"
    until(lambda: output.exists() and "run 1 on node2" in output.read_text())
    assert "*" not in node_state(cluster, "node2")
    until(lambda: cluster.run("pgrep", "-cf", f"^sleep {marker}", check=False).out.strip() == "1")
    cluster.run("scancel", back)
    cluster.wait_ended(back)


# ---- scripts and options that are none ----

@pytest.mark.parametrize("content, text", [
    ("", "Batch script is empty!"),
    (" \n\t\n", "Batch script contains only whitespace!"),
    ("#!/bin/sh\n\0\n", "contain a NULL character '\\0'."),
])
def test_scripts_that_are_none(cluster, content, text):
    result = cluster.run("sbatch", stdin=content, check=False)
    assert result.code == 1 and text in result.err and result.out == "", result


def test_scripts_that_cannot_be_read(cluster, tmp_path):
    missing = cluster.run("sbatch", "/nonexistent/script.sh", check=False)
    assert missing.code == 1 and "Unable to open file /nonexistent/script.sh" in missing.err, missing
    folder = cluster.run("sbatch", tmp_path, check=False)
    assert folder.code == 1 and str(tmp_path) in folder.err, folder
    if os.geteuid() != 0:
        closed = tmp_path / "closed.sh"
        closed.write_text("#!/bin/sh\n")
        closed.chmod(0)
        refused = cluster.run("sbatch", closed, check=False)
        assert refused.code == 1 and "closed.sh" in refused.err, refused


def test_an_interpreter_that_is_not_there_is_a_clear_reason(cluster):
    job = cluster.sbatch("#!/no/such/interpreter\ntrue\n")
    ended = cluster.wait_ended(job)
    assert ended["State"] == "FAILED" and ended["ExitCode"] == "2:0", ended
    told = (cluster.work / f"slurm-{job}.out").read_text()
    assert told.startswith("slurmstepd: error: execve(): ") and told.endswith(": No such file or directory\n"), told


@pytest.mark.root_only
def test_a_machine_without_proc_is_a_clear_reason(tmp_path):
    up = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && exec {BIN}/muster up --dir {tmp_path}/cluster --detach"], capture_output=True, text=True)
    if "umount" in up.stderr or "unshare" in up.stderr:
        pytest.skip("this host forbids mounting")
    assert up.returncode == 1 and "/proc is not mounted here" in up.stderr and "mount -t proc proc /proc" in up.stderr, up
    assert not (tmp_path / "cluster").exists()


def test_a_working_folder_that_is_gone_is_a_clear_reason(cluster):
    gone = cluster.work / "gone"
    gone.mkdir()
    job = cluster.sbatch("true", "--hold", "-D", gone, "-o", cluster.work / "gone.out")
    gone.rmdir()
    cluster.run("scontrol", "release", job)
    cluster.wait_ended(job)
    shown = cluster.run("scontrol", "show", "job", job).out + (cluster.work / "gone.out").read_text()
    assert str(gone) in shown and "No such file or directory" in shown


@pytest.mark.parametrize("words, names", [
    (["sbatch", "--time=soon", "--wrap", "true"], ["time"]),
    (["sbatch", "--mem=plenty", "--wrap", "true"], ["mem"]),
    (["sbatch", "-n", "many", "--wrap", "true"], ["many"]),
    (["sbatch", "-N", "3-1", "--wrap", "true"], ["--nodes"]),
    (["sbatch", "-c", "0", "--wrap", "true"], ["cpus-per-task"]),
    (["sbatch", "--array=5-1", "--wrap", "true"], ["array"]),
    (["sbatch", "--dependency=whenever:1", "--wrap", "true"], ["dependency"]),
    (["sbatch", "--signal=NOPE", "--wrap", "true"], ["signal"]),
    (["sbatch", "--begin=yesteryear", "--wrap", "true"], ["yesteryear"]),
    (["sbatch", "--open-mode=sideways", "--wrap", "true"], ["open-mode"]),
    (["sbatch", "--nice=99999999999", "--wrap", "true"], ["nice"]),
    (["sbatch", "--no-such-option", "--wrap", "true"], ["--no-such-option"]),
    (["srun", "-n", "x", "true"], ["x"]),
    (["srun", "--time=never-ever", "true"], ["time"]),
    (["srun"], ["command"]),
    (["salloc", "--mem=1X", "true"], ["mem"]),
    (["squeue", "-t", "SLEEPING"], ["SLEEPING"]),
    (["squeue", "-j", "twelve"], ["twelve"]),
    (["squeue", "--no-such-option"], ["--no-such-option"]),
    (["sinfo", "-t", "SLEEPING"], ["SLEEPING"]),
    (["sinfo", "--no-such-option"], ["--no-such-option"]),
    (["scancel", "-s", "NOPE", "1"], ["NOPE"]),
    (["scancel", "twelve"], ["twelve"]),
    (["scancel"], ["job"]),
    (["scontrol", "frobnicate"], ["frobnicate"]),
    (["scontrol", "update", "nonsense"], ["nonsense"]),
    (["scontrol", "hold"], ["argument"]),
    (["sacct", "-j", "twelve"], ["twelve"]),
    (["sacct", "-S", "yesteryear"], ["yesteryear"]),
    (["sacct", "-s", "SLEEPING"], ["SLEEPING"]),
])
def test_malformed_options_are_refused_by_name(cluster, words, names):
    result = cluster.run(*words, check=False, stdin="", timeout=20)
    assert result.code != 0, (words, result)
    for name in names:
        assert name in result.err, (words, result)
    assert result.out == "" or words[0] == "scontrol", result


# ---- what a task inherits ----

PROBE = r"""
for line in SigQ SigBlk SigIgn SigCgt; do grep "^$line:" /proc/self/status | grep -v SigQ; done
sed 's/  */ /g' /proc/self/limits
umask
ls /proc/self/fd
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
"""


def comparable(result):
    """Whoever runs the tests may ignore some signals, and a plain shell inherits that. An ordinary user's step lies in a
    user namespace of its own, whose bounding set begins full and means nothing outside."""
    apart = ("SigIgn:",) if os.geteuid() == 0 else ("SigIgn:", "CapBnd:")
    return [line for line in result.out.splitlines() if not line.startswith(apart)]


def test_a_step_inherits_what_a_plain_shell_would(cluster):
    """Standard streams apart: those of a step are its supervisor's pipes."""
    plain = cluster.run("/bin/sh", "-c", PROBE, stdin="")
    step = cluster.run("srun", "-n1", "/bin/sh", "-c", PROBE, stdin="")
    assert comparable(step) == comparable(plain)
    assert "SigBlk:\t0000000000000000" in step.out and "SigIgn:\t0000000000000000" in step.out
    limited = "ulimit -S -n 300; ulimit -S -c 0; umask 027; "
    plain = cluster.run("/bin/sh", "-c", limited + PROBE, stdin="")
    step = cluster.run("/bin/sh", "-c", limited + "exec srun -n1 /bin/sh -c \"$0\"", PROBE, stdin="")
    assert comparable(step) == comparable(plain)


# ---- a journal that this version cannot read ----

def has_changed_alone(database, change, values=()):
    """Whoever closes a database last moves its log into it: with another there, the file would change once more."""
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(change, values)
    connection.close()
    return not os.path.exists(f"{database}-wal")


def test_a_journal_of_a_newer_version_stops_the_start_by_name(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.down()
    journal = cluster.dir / "state/journal.db"
    before = None
    for change, text in [("UPDATE meta SET value = 99 WHERE name = 'format'", "journal has format 99"),
                         ("UPDATE meta SET value = 3 WHERE name = 'format'", None)]:
        until(lambda: has_changed_alone(journal, change), "the controller to let go of its journal")
        if text is None:
            break
        before = journal.read_bytes()
        started = cluster.run("musterd", "-f", cluster.dir / "slurm.conf", check=False, timeout=20)
        assert started.code == 1 and text in started.err and "reads up to 3" in started.err, started
        assert journal.read_bytes() == before
    cluster.up()
    assert cluster.run("sinfo", "-h", "-o", "%t").out == "idle\n"
