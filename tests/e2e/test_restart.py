"""What survives: SIGKILL of the controller and of agents, restarts, a state that replays to the same hash."""
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from conftest import BIN, supervisors, until, written


def test_controller_restart_does_not_touch_a_running_job(own_cluster):
    cluster = own_cluster(nodes=2)
    job = cluster.sbatch("echo begin; sleep 3; echo end", "-o", "survive.out")
    waiting = cluster.sbatch("echo after", f"--dependency=afterok:{job}", "-o", "after.out")
    cluster.wait_state(job, "RUNNING")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    cluster.up()
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert cluster.wait_ended(waiting)["State"] == "COMPLETED"
    assert (cluster.work / "survive.out").read_text() == "begin\nend\n"
    check = cluster.run("muster", "check", "--dir", cluster.dir)
    assert "journal: batch" in check.out and "controller: batch" in check.out


def test_job_ends_while_the_controller_is_away(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 1; exit 3")
    cluster.wait_state(job, "RUNNING")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(2)
    cluster.up()
    assert cluster.wait_ended(job)["ExitCode"] == "3:0"


def test_agent_restart_adopts_its_steps(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 3; exit 4")
    ended_away = cluster.sbatch("sleep 0.5; exit 5")
    cluster.wait_state(job, "RUNNING")
    cluster.wait_state(ended_away, {"RUNNING", "FAILED"})
    os.kill(cluster.pid("agent-node1"), signal.SIGKILL)
    time.sleep(1.5)
    cluster.up()
    assert cluster.wait_ended(job)["ExitCode"] == "4:0"
    assert cluster.wait_ended(ended_away)["ExitCode"] == "5:0"


def test_a_supervisor_whose_spool_is_gone_ends_with_its_step(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.sbatch("touch begun; while [ ! -e go ]; do sleep 0.1; done")
    until((cluster.work / "begun").exists, "the script's begin")  # a job is RUNNING before its agent has started anything
    for name in ("controller", "agent-node1"):
        os.kill(cluster.pid(name), signal.SIGKILL)
    time.sleep(0.3)
    assert supervisors(cluster), "the step runs on without them"
    shutil.rmtree(cluster.dir / "spool")
    (cluster.work / "go").touch()
    deadline = time.monotonic() + 10
    while supervisors(cluster) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not supervisors(cluster)


def supervisor_above(pid):
    """The process that watches the step of which `pid` is a task."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


LEAVES_NO_TRACE = """#!/bin/sh
for pid in $(cat pids 2>/dev/null); do
  grep -q '^State:[^Z]*$' /proc/$pid/status 2>/dev/null && echo $pid >> overlap
done
(trap '' TERM; exec sleep 300) & echo $! >> pids
setsid sh -c 'sleep 301 & echo $! >> pids; wait' &
env -i sleep 302 & echo $! >> pids
echo $$ >> pids
echo ${SLURM_RESTART_COUNT:-0} $$ >> begins
wait
"""


@pytest.mark.parametrize("spool", [{}, {"SlurmdSpoolDir": "spool-%n"}], ids=["the usual spool", "a relative spool"])
def test_what_a_killed_supervisor_leaves_ends_before_the_job_begins_anew(own_cluster, spool):
    cluster = own_cluster(nodes=1, conf={"KillWait": "2", **spool})
    job = cluster.sbatch(LEAVES_NO_TRACE, "--requeue", "-o", "/dev/null")
    begins = cluster.work / "begins"
    script = int(written(begins, "the script's begin").split()[1])
    until(lambda: len((cluster.work / "pids").read_text().split()) == 4, "all of its processes")
    os.kill(supervisor_above(script), signal.SIGKILL)
    until(lambda: len(begins.read_text().splitlines()) == 2, "the second run")
    assert begins.read_text().split()[2] == "1"
    assert not (cluster.work / "overlap").exists(), "the first run went on beside the second"
    cluster.run("scancel", job)
    assert cluster.wait_ended(job)["State"].startswith("CANCELLED")


def lose_records(spool, how):
    """What a damaged disk, or somebody who makes room, does to the spool of an agent that is gone."""
    logs = sorted(spool.glob("steps.*.log"))
    if how == "a damaged record":
        content = logs[-1].read_bytes()
        logs[-1].write_bytes(content[:-4] + b"?" + content[-3:])  # that of the launch, which is the last
    elif how == "no logs":
        for log in logs:
            log.unlink()
    else:
        shutil.rmtree(spool)


@pytest.mark.long
@pytest.mark.parametrize("how", ["a damaged record", "no logs", "no spool"])
@pytest.mark.parametrize("who", ["agent-node1", "controller"])
def test_a_step_that_the_spool_has_lost_goes_on(own_cluster, how, who):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("echo begin >> begins; while [ ! -e go ]; do sleep 0.1; done; exit 4", "--requeue", "-o", "/dev/null")
    until((cluster.work / "begins").exists, "the script's begin")
    time.sleep(1.5)  # until the controller has heard that it runs
    for name in {"agent-node1", who}:
        os.kill(cluster.pid(name), signal.SIGKILL)
    lose_records(cluster.dir / "spool" / "node1", how)
    cluster.up()
    time.sleep(8)  # longer than a lost supervisor is waited for
    assert cluster.job(job, "State")["State"] == "RUNNING"
    (cluster.work / "go").touch()
    assert cluster.wait_ended(job)["ExitCode"] == "4:0"
    assert (cluster.work / "begins").read_text() == "begin\n"
    after = cluster.sbatch("exit 0")
    assert cluster.wait_ended(after)["State"] == "COMPLETED"


def test_an_agent_that_looks_alive_because_it_is_just_dying_is_started_again(own_cluster):
    cluster = own_cluster(nodes=1)
    agent = cluster.pid("agent-node1")
    os.kill(agent, signal.SIGSTOP)
    up = subprocess.Popen([str(BIN / "muster"), "up", *cluster.args, "--detach"])
    time.sleep(0.1)
    os.kill(agent, signal.SIGKILL)
    assert up.wait(timeout=30) == 0
    assert cluster.pid("agent-node1") != agent
    assert cluster.wait_ended(cluster.sbatch("exit 0"))["State"] == "COMPLETED"


def test_a_step_of_which_nothing_is_known_and_no_supervisor_lives_is_lost_and_cleaned_up_after(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch(LEAVES_NO_TRACE, "--requeue", "-o", "/dev/null")
    begins = cluster.work / "begins"
    script = int(written(begins, "the script's begin").split()[1])
    until(lambda: len((cluster.work / "pids").read_text().split()) == 4, "all of its processes")
    os.kill(cluster.pid("agent-node1"), signal.SIGKILL)
    os.kill(supervisor_above(script), signal.SIGKILL)
    lose_records(cluster.dir / "spool" / "node1", "no logs")
    cluster.up()
    until(lambda: len(begins.read_text().splitlines()) == 2, "the second run")
    assert begins.read_text().split()[2] == "1", "it counts as another run"
    assert not (cluster.work / "overlap").exists(), "the first run went on beside the second"
    cluster.run("scancel", job)
    assert cluster.wait_ended(job)["State"].startswith("CANCELLED")


def test_a_supervisor_that_stands_still_while_its_agent_starts_again_keeps_its_step(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; echo over", "-o", "out.txt")
    script = int(written(cluster.work / "pid", "the script's begin"))
    supervisor = supervisor_above(script)
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(cluster.pid("agent-node1"), signal.SIGKILL)
    time.sleep(0.5)
    cluster.up()
    time.sleep(8)  # longer than a supervisor may take to come up
    os.kill(supervisor, signal.SIGCONT)
    (cluster.work / "go").touch()
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "out.txt").read_text() == "over\n"


def test_silent_node_is_marked(own_cluster):
    cluster = own_cluster(nodes=2)
    os.kill(cluster.pid("agent-node2"), signal.SIGSTOP)
    try:
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            if cluster.run("sinfo", "-h", "-N", "-n", "node2", "-o", "%t").out.strip() == "idle*":
                break
            time.sleep(0.2)
        assert cluster.run("sinfo", "-h", "-N", "-n", "node2", "-o", "%t").out.strip() == "idle*"
    finally:
        os.kill(cluster.pid("agent-node2"), signal.SIGCONT)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and "*" in cluster.run("sinfo", "-h", "-N", "-o", "%t").out:
        time.sleep(0.1)
    assert "*" not in cluster.run("sinfo", "-h", "-N", "-o", "%t").out


def test_reconfigure_reads_the_file_again_and_jobs_run_on(own_cluster):
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 4; echo done", "-o", "run.out")
    cluster.wait_state(job, "RUNNING")
    conf = cluster.dir / "slurm.conf"
    good = conf.read_text()
    conf.write_text(good + "NoSuchKey=1\n")
    refused = cluster.run("scontrol", "reconfigure", check=False)
    assert refused.code != 0 and "NoSuchKey" in refused.err
    others = "".join(line for line in good.splitlines(True) if not line.startswith("KillWait="))
    others += ("NodeName=late1 CPUs=1 RealMemory=100 State=DRAIN Reason=\"being built\"\n"
               "NodeName=late2 CPUs=1 RealMemory=100 State=FUTURE\nPartitionName=late Nodes=late1,late2\n")
    for seconds in (7, 8, 9):
        conf.write_text(others + f"KillWait={seconds}\n")
        cluster.run("scontrol", "reconfigure")
        shown = cluster.run("scontrol", "show", "config").out
        assert f"KillWait                = {seconds} sec" in shown, "when the command is over"
    late = cluster.run("scontrol", "show", "node", "late1").out
    assert "DRAIN" in late and "Reason=being built" in late
    assert cluster.run("sinfo", "-h", "-N", "-p", "late", "-o", "%N").out.split() == ["late1"]
    assert "late2" in cluster.run("sinfo", "-h", "-N", "-F", "-p", "late", "-o", "%N").out
    assert cluster.wait_ended(job)["State"] == "COMPLETED"


def test_reconfigure_refuses_what_the_next_run_could_not_begin_with(own_cluster):
    """A controller that cannot listen, or finds another state, would be gone, or end what runs."""
    cluster = own_cluster(nodes=1)
    job = cluster.sbatch("sleep 8; echo done", "-o", "run.out")
    cluster.wait_state(job, "RUNNING")
    conf, clients = cluster.dir / "slurm.conf", cluster.dir / "clients.conf"
    good = conf.read_text()
    clients.write_text(good)

    def reconfigure(**keys):
        kept = [line for line in good.splitlines(True) if line.partition("=")[0] not in keys]
        conf.write_text("".join(kept) + "".join(f"{key}={value}\n" for key, value in keys.items()))
        return cluster.run("scontrol", "reconfigure", check=False, env={"SLURM_CONF": str(clients)})

    address = (cluster.dir / "state" / "http.address").read_text().strip()
    port = address.rpartition(":")[2]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        held = taken.getsockname()[1]
        for refused, named in (
                (dict(MusterHttp=f"127.0.0.1:{held}"), f"MusterHttp: cannot listen on 127.0.0.1:{held}"),
                (dict(MusterHttpServices=f"0.0.0.0:{held}"), f"MusterHttpServices: cannot listen on 0.0.0.0:{held}"),
                (dict(MusterHttp=f"no.such.host.invalid:{port}"), f"cannot listen on no.such.host.invalid:{port}"),
                (dict(MusterHttp="no.such.host.invalid:0"), "cannot listen on no.such.host.invalid:0"),
                (dict(MusterHttp=f"192.0.2.1:{port}"), f"cannot listen on 192.0.2.1:{port}"),
                (dict(MusterHttp=f"127.0.0.1:{port}", MusterHttpServices=f"0.0.0.0:{port}"),
                 f"MusterHttpServices: cannot listen on 0.0.0.0:{port}"),
                (dict(MusterHttp=f"127.0.0.1:{port}", MusterHttpServices=f"127.0.0.1:0{port}"),
                 f"MusterHttpServices: cannot listen on 127.0.0.1:{port}"),
                (dict(MusterHttp="127.0.0.1:65536"), "MusterHttp=127.0.0.1:65536"),
                (dict(StateSaveLocation=f"{cluster.dir}/elsewhere"), "StateSaveLocation cannot change"),
                (dict(MusterController=f"unix:{cluster.dir}/elsewhere/controller.sock"), "MusterController cannot change")):
            answer = reconfigure(**refused)
            assert answer.code != 0 and named in answer.err, (refused, answer.err)
            conf.write_text(good)
            assert cluster.run("scontrol", "ping").out.endswith("is UP\n"), refused
    assert not (cluster.dir / "elsewhere").exists()
    for name in "tokens", "http.key":
        file = cluster.dir / "state" / name
        whole = file.read_bytes()
        file.write_bytes(b"what a damaged disk leaves\n" + whole)
        answer = reconfigure()
        assert answer.code != 0 and f"{file} is damaged" in answer.err, answer.err
        file.write_bytes(whole)
    with socket.socket() as sharing:  # one that shares its port is in the way as well, and gets none of ours
        sharing.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sharing.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError):
            sharing.bind(("127.0.0.1", int(port)))
        sharing.bind(("127.0.0.1", 0))
        sharing.listen()
        answer = reconfigure(MusterHttp="127.0.0.1:{}".format(sharing.getsockname()[1]))
        assert answer.code != 0 and "MusterHttp: cannot listen on 127.0.0.1:" in answer.err
    with socket.socket() as beside:  # the next run would want this one's port, too
        beside.bind(("127.0.0.3", int(port)))
        beside.listen()
        answer = reconfigure(MusterHttp=f"0.0.0.0:{port}")
        assert answer.code != 0 and f"MusterHttp: cannot listen on 0.0.0.0:{port}" in answer.err
    with socket.socket() as silent:  # nobody can see it before it is too late: HTTP stays where it is
        silent.bind(("127.0.0.3", int(port)))
        services = (cluster.dir / "state" / "http-services.address").read_text().strip()
        for key, moved in (("MusterHttp", dict(MusterHttp=f"0.0.0.0:{port}")),
                           ("MusterHttpServices", dict(MusterHttp=services, MusterHttpServices=f"0.0.0.0:{port}"))):
            assert reconfigure(**moved).code == 0
            pinged = cluster.run("scontrol", "ping")
            assert pinged.out.endswith("is UP\n")
            assert f"{key}: cannot listen on 0.0.0.0:{port}" in pinged.err and f"HTTP stays at {address}" in pinged.err, pinged
            for place in (address, services):
                host, _, number = place.rpartition(":")
                socket.create_connection((host, int(number)), timeout=5).close()
        conf.write_text(good)
        answer = reconfigure()
        assert answer.code == 0 and cluster.run("scontrol", "ping").out.endswith("is UP\n"), answer.err
    for taken_over in (dict(MusterHttp=f"127.0.0.1:{port}"),  # the port that it was given
                       dict(MusterHttp=f"127.0.0.1:{port}", MusterHttpServices=f"127.0.0.2:{port}"),
                       dict(MusterHttp=f"127.0.0.4:{port}", StateSaveLocation=f"{cluster.dir}//state/"),
                       dict(MusterHttp=f"0.0.0.0:{port}", MusterHttpServices="127.0.0.1:0")):
        answer = reconfigure(**taken_over)
        assert answer.code == 0, (taken_over, answer.err)
        assert (cluster.dir / "state" / "http.address").read_text().strip() == taken_over["MusterHttp"]
    assert cluster.wait_ended(job)["State"] == "COMPLETED"


def test_without_an_address_for_http_the_cluster_works_and_a_token_is_refused(own_cluster):
    """Nobody answers for tokens then: who asks for one is told why, and does not wait."""
    cluster = own_cluster(nodes=1)
    conf, state = cluster.dir / "slurm.conf", cluster.dir / "state"
    good = conf.read_text()
    port = (state / "http.address").read_text().strip().rpartition(":")[2]
    with socket.socket() as silent:  # nobody can see it before it is too late, and where HTTP was it cannot be either
        silent.bind(("127.0.0.3", int(port)))
        for name in ("http.address", "http-services.address"):
            (state / name).write_text("192.0.2.1:80\n")
        conf.write_text("".join(line for line in good.splitlines(True) if not line.startswith("MusterHttp=")) + f"MusterHttp=0.0.0.0:{port}\n")
        assert cluster.run("scontrol", "reconfigure").code == 0
        pinged = cluster.run("scontrol", "ping")
        assert "HTTP is not served until scontrol reconfigure finds it free" in pinged.err, pinged
        refused = cluster.run("muster", "token", check=False)
        assert refused.code != 0 and f"cannot listen on 0.0.0.0:{port}" in refused.err, refused
        assert cluster.wait_ended(cluster.sbatch("true"))["State"] == "COMPLETED"
    assert cluster.run("scontrol", "reconfigure").code == 0
    assert cluster.run("muster", "token").out.strip()


def test_a_port_is_nobodys_while_the_controller_starts_itself_again(own_cluster):
    """Who had it for a moment would be sent the tokens of what runs."""
    cluster = own_cluster(nodes=1)
    address = (cluster.dir / "state" / "http.address").read_text().strip()
    services = (cluster.dir / "state" / "http-services.address").read_text().strip()
    ports = [int(place.rpartition(":")[2]) for place in (address, services)]
    thief = subprocess.Popen(["python3", "-c", f"""
import socket
for _ in range(10 ** 9):
    for port in {ports}:
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", port))
                taken.listen()
            except OSError:
                continue
            print("stole", port, flush=True)
"""], stdout=subprocess.PIPE, text=True)
    refused = []
    try:
        for _ in range(3):
            asked = cluster.popen("scontrol", "reconfigure")
            while asked.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", ports[0]), timeout=20).close()
                except OSError as error:
                    refused.append(error)
            assert asked.communicate() == ("", "") and asked.returncode == 0
            assert (cluster.run("scontrol", "ping").err, thief.poll()) == ("", None)
    finally:
        thief.kill()
    assert (thief.communicate()[0], refused) == ("", []), "who asks meanwhile waits"
    assert (cluster.dir / "state" / "http.address").read_text().strip() == address
    assert cluster.wait_ended(cluster.sbatch("true"))["State"] == "COMPLETED"


def test_each_door_can_take_the_others_port(own_cluster):
    """The other one, for which any port will do, is then at another: never both at one."""
    cluster = own_cluster(nodes=1)
    conf, files = cluster.dir / "slurm.conf", [cluster.dir / "state" / f"{name}.address" for name in ("http", "http-services")]
    api, services = (file.read_text().strip() for file in files)
    good = "".join(line for line in conf.read_text().splitlines(True) if not line.startswith("MusterHttp="))
    for wanted in ((services, None), (api, None), ("127.0.0.1:0", None), ("localhost:0", api), ("127.0.0.1:0", services), (api, services)):
        text = good + f"MusterHttp={wanted[0]}\n" + (f"MusterHttpServices={wanted[1]}\n" if wanted[1] else "")
        conf.write_text(text)
        cluster.run("scontrol", "reconfigure")
        now = [file.read_text().strip() for file in files]
        assert now[0].rpartition(":")[2] != now[1].rpartition(":")[2], (wanted, now)
        assert all(there == place for there, place in zip(wanted, now) if there and not there.endswith(":0")), (wanted, now)
        assert "cannot listen" not in cluster.run("scontrol", "ping").err, wanted
        for place, answer in zip(now, (401, 404)):
            with pytest.raises(urllib.error.HTTPError) as asked:
                urllib.request.urlopen(f"http://{place}/api/v1/experiments", timeout=20)
            assert asked.value.code == answer, place
    api = files[0].read_text().strip()
    conf.write_text(good + f"MusterHttp=127.0.0.1:0\nMusterHttpServices={api}\n")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    cluster.up()
    assert files[1].read_text().strip() == api != files[0].read_text().strip(), "a start by hand, too"


def test_what_is_no_file_is_no_configuration(own_cluster):
    """Nor is anything that somebody has exported a handover of the run before."""
    cluster = own_cluster(nodes=1)
    conf = cluster.dir / "slurm.conf"
    good = conf.read_text()
    folder, pipe = cluster.dir / "conf.d", cluster.dir / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    clients = cluster.dir / "clients.conf"
    clients.write_text(good)
    for bad in (f"MusterDefaults={folder}", f"MusterDefaults={pipe}", f"Include {folder}", f"Include {pipe}"):
        conf.write_text(good + bad + "\n")
        refused = cluster.run("scontrol", "reconfigure", check=False, env={"SLURM_CONF": str(clients)})
        assert refused.code == 1 and "it is no regular file" in refused.err, (bad, refused.err)
        assert cluster.run("scontrol", "ping", check=False).code in (0, 1), "a client says so, too, or needs it not"
    conf.write_text(good)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    cluster.run("muster", "up", *cluster.args, "--detach", env={
        "MUSTERD_GOES_ON": "1", "MUSTERD_SOCKETS": "0,1,2", "MUSTERD_CONF": "0", "MUSTERD_LEAD_BEYOND": "1000", "MUSTERD_CLOCK_BELIEVED": "1"})
    cluster.run("scontrol", "reconfigure")
    assert cluster.wait_ended(cluster.sbatch("true"))["State"] == "COMPLETED"


def test_a_port_that_somebody_has_taken_is_told(own_cluster):
    """After kill -9 any port will do, but what runs knows the last one alone."""
    cluster = own_cluster(nodes=1)
    address = (cluster.dir / "state" / "http.address").read_text().strip()
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        host, _, port = address.rpartition(":")
        taken.bind((host, int(port)))
        taken.listen()
        cluster.up()
        now = (cluster.dir / "state" / "http.address").read_text().strip()
        assert now != address
        assert f"MusterHttp: {address} is taken: it is {now} now" in cluster.run("scontrol", "ping").err


def test_a_start_of_its_own_keeps_the_configuration_that_it_ran_with(own_cluster):
    """Someone edits the file, or reconfigure has refused it; then the controller has a reason to start again."""
    cluster = own_cluster(nodes=1)
    conf, state, log = cluster.dir / "slurm.conf", cluster.dir / "state", cluster.dir / "log" / "controller.log"
    defaults = cluster.dir / "defaults.yaml"
    defaults.write_text("defaults: {environment: {environment_variables: [A=1]}}\n")
    conf.write_text(conf.read_text() + f"MusterDefaults={defaults}\n")
    cluster.run("scontrol", "reconfigure")
    job = cluster.sbatch("for i in $(seq 25); do sleep 1; done; echo whole", "-o", "run.out")
    cluster.wait_state(job, "RUNNING")
    time.sleep(1)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    shutil.copytree(state, cluster.dir / "backup")
    for _ in range(2):  # the node meets epochs that the older copy does not know
        cluster.up()
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        time.sleep(0.3)
    shutil.rmtree(state)
    (cluster.dir / "backup").rename(state)
    agent = cluster.pid("agent-node1")
    os.kill(agent, signal.SIGSTOP)
    with open(log, "w") as told:
        controller = subprocess.Popen([str(BIN / "musterd"), "-f", str(conf)], env=cluster.env(), stdout=told, stderr=told)
    try:
        clients = {"SLURM_CONF": str(cluster.dir / "clients.conf")}
        shutil.copy(conf, clients["SLURM_CONF"])
        until(lambda: cluster.run("squeue", check=False).code == 0, "the controller")
        conf.write_text(conf.read_text().replace(f"StateSaveLocation={state}", f"StateSaveLocation={cluster.dir}/elsewhere") + "NoSuchKey=1\n")
        asked = cluster.run("scontrol", "reconfigure", check=False, env=clients)
        assert asked.code != 0 and "NoSuchKey" in asked.err
        defaults.unlink()
        state.chmod(0o755)
        os.kill(agent, signal.SIGCONT)
        until(lambda: log.read_text().count(": recovered ") == 2, "its start")
        assert "taking the lead anew: starting again" in log.read_text()
        until(lambda: cluster.run("squeue", "-h", "-o", "%i %T", check=False, env=clients).out == f"{job} RUNNING\n", "the job runs on")
        assert (state.stat().st_mode & 0o777, (cluster.dir / "elsewhere").exists()) == (0o700, False)
        shutil.copy(clients["SLURM_CONF"], conf)
        assert cluster.wait_ended(job)["State"] == "COMPLETED"
        assert (cluster.work / "run.out").read_text() == "whole\n"
    finally:
        os.kill(agent, signal.SIGCONT)
        controller.kill()
        controller.wait()


def test_clusters_of_one_name_keep_apart(own_cluster):
    """Two clusters whose jobs, nodes and names are alike: the end of a step of one leaves the other's alone."""
    first, second = own_cluster(nodes=1), own_cluster(nodes=1)
    longer = second.sbatch("sleep 4; echo whole", "-o", "longer.out")
    second.wait_state(longer, "RUNNING")
    shorter = first.sbatch("sleep 1")
    assert shorter == longer
    assert first.wait_ended(shorter)["State"] == "COMPLETED"
    assert second.wait_ended(longer)["State"] == "COMPLETED"
    assert (second.work / "longer.out").read_text() == "whole\n"


def test_down_ends_everything_although_the_configuration_is_broken(own_cluster):
    cluster = own_cluster(nodes=2)
    pids = [cluster.pid(name) for name in ("controller", "agent-node1", "agent-node2")]
    with open(cluster.dir / "slurm.conf", "a") as conf:
        conf.write("NoSuchKey=1\n")
    cluster.run("muster", "down", "--dir", cluster.dir)
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}/exe")]  # a zombie has none
