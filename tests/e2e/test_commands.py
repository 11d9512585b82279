"""The commands against real daemons: srun's streams and signals, salloc, what clients parse, exit codes."""
import ipaddress
import os
import pwd
import re
import signal
import time
from pathlib import Path

import pytest

from conftest import ends_told, until


def test_srun_alone_labels_and_binary_streams(cluster):
    out = cluster.run("srun", "-n3", "-l", "cat", stdin="one\ntwo").out
    assert sorted(out.splitlines()) == [f"{rank}: {line}" for rank in range(3) for line in ("one", "two")]
    text = "".join(f"{i}\n" for i in range(100_000))
    assert cluster.run("srun", "cat", stdin=text).out == text
    assert cluster.run("squeue", "-h").out == ""


def test_srun_exit_codes_and_messages(cluster):
    result = cluster.run("srun", "-N2", "-n2", "sh", "-c", "exit 3", check=False)
    assert result.code == 3 and ends_told(result.err) == {0: "Exited with exit code 3", 1: "Exited with exit code 3"}
    result = cluster.run("srun", "sh", "-c", "kill -SEGV $$", check=False)
    assert result.code == 139 and result.err.startswith("srun: error: node1: task 0: Segmentation fault")
    result = cluster.run("srun", "no-such-program", check=False)
    assert result.code == 2 and result.err.count("No such file or directory") == 1
    job = cluster.sbatch("srun no-such-program; srun /etc; exit 0", "-o", "/dev/null")
    cluster.wait_ended(job)
    assert cluster.run("sacct", "-nP", "-j", job, "-o", "JobID,State,ExitCode").out.split() == [
        f"{job}|COMPLETED|0:0", f"{job}.batch|COMPLETED|0:0", f"{job}.0|FAILED|2:0", f"{job}.1|FAILED|13:0"]


def test_srun_interrupts(cluster):
    srun = cluster.popen("srun", "-n2", "sleep", "60")
    time.sleep(0.5)
    srun.send_signal(signal.SIGINT)
    time.sleep(0.3)
    srun.send_signal(signal.SIGINT)
    _, err = srun.communicate(timeout=20)
    assert srun.returncode == 130
    assert "srun: interrupt (one more within 1 sec to abort)\n" in err and "tasks 0-1: running" in err
    assert "srun: sending Ctrl-C to StepId=" in err


def test_srun_multi_prog(cluster):
    (cluster.work / "programs").write_text("0 echo first %t\n* echo other %t %o $HOME;\n")
    out = cluster.run("srun", "-n3", "-l", "--multi-prog", "programs", "and this", "*").out
    assert sorted(out.splitlines()) == [
        "0: first 0 and this *", "1: other 1 1 $HOME; and this *", "2: other 2 2 $HOME; and this *"]
    (cluster.work / "programs").write_text("0-1,4 echo 'a  b' %t%o\n5,2-3 echo over \\\n%o \\%t\n")
    out = cluster.run("srun", "-n6", "-O", "-l", "--multi-prog", "programs").out
    assert sorted(out.splitlines()) == ["0: a  b 00", "1: a  b 11", "2: over 1 %t", "3: over 2 %t", "4: a  b 42", "5: over 0 %t"]
    # The file alone says how many tasks there are.
    assert len(cluster.run("srun", "-O", "--multi-prog", "programs").out.splitlines()) == 6
    piped = cluster.run("bash", "-c", "srun -O --multi-prog <(echo '0 echo a'; echo '1 echo b')").out
    assert sorted(piped.splitlines()) == ["a", "b"]
    (cluster.work / "programs").write_text("0 echo a\n0 echo b\n")
    assert "Duplicate record for task 0" in cluster.run("srun", "--multi-prog", "programs", check=False).err


def test_salloc_runs_steps_and_returns_its_command_s_code(cluster):
    script = 'srun -l hostname; srun -n1 sh -c "echo step $SLURM_STEP_ID"; squeue -h -s; exit 5'
    result = cluster.run("salloc", "-N2", "-n2", "sh", "-c", script, check=False)
    assert result.code == 5
    assert sorted(result.out.splitlines())[:2] == ["0: node1", "1: node2"]
    job = re.search(r"salloc: Granted job allocation (\d+)\n", result.err).group(1)
    assert f"salloc: Relinquishing job allocation {job}\n" in result.err and "warning" not in result.err
    assert "\n     " not in result.out  # no step was left behind


def test_salloc_s_shell_knows_its_cluster_as_its_tasks_do(cluster):
    ours, tasks = cluster.run("salloc", "-Q", "-n1", "sh", "-c", "echo $MUSTER_CLUSTER_ID; srun sh -c 'echo $MUSTER_CLUSTER_ID'").out.split()
    assert ours == tasks and len(ours) >= 8


def test_steps_wait_for_busy_cpus(cluster):
    result = cluster.run("salloc", "-Q", "-n1", "sh", "-c", "srun sleep 1 & sleep 0.3; srun echo later; wait")
    assert result.out == "later\n"
    assert "step creation temporarily disabled, retrying (Requested nodes are busy)" in result.err
    assert re.search(r"srun: Step created for StepId=\d+\.1\n", result.err)


def test_srun_survives_a_restart_of_the_controller(cluster):
    srun = cluster.popen("srun", "sh", "-c", "echo before; sleep 2; echo after; exit 4")
    time.sleep(0.7)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.3)
    cluster.up()
    out, err = srun.communicate(timeout=30)
    assert (out, srun.returncode) == ("before\nafter\n", 4), err


def test_what_clients_parse(cluster):
    job = cluster.sbatch("sleep 30", "--array=0-3%1", "-J", "many", "--hold")
    assert cluster.run("squeue", "--job", f"{job}", "--noheader", "--format=%i %t").out == f"{job}_[0-3%1] PD\n"
    rows = cluster.run("squeue", "-a", "-r", "-h", "-o %A|%T|%C", "-j", job).out.splitlines()
    assert len(rows) == 4 and rows[0].endswith("|PENDING|1")
    assert cluster.run("squeue", "-n", "many", "-h", "-o", "%F\x1f%K").out == f"{job}\x1f0-3%1\n"
    assert cluster.run("scancel", f"{job}_2").out == ""
    cluster.run("scancel", job, "--signal", "KILL")
    time.sleep(0.2)
    assert cluster.run("squeue", "-h", "-j", job).out == ""
    states = cluster.run("sacct", "-X", "--parsable2", "--noheader", "--format=JobIdRaw,State", "-j", job).out
    assert "CANCELLED by" in states


def test_failures_exit_non_zero_with_their_text(cluster):
    cases = [
        (["squeue", "-j", "999999"], "slurm_load_jobs error: Invalid job id specified\n"),
        (["squeue", "-O", "jobid", "-o", "%i"], "squeue: error: -O (--Format) is incompatible with -o (--format)\n"),
        (["sinfo", "-o", "%P", "-O", "partition"], "sinfo: error: -O (--Format) is incompatible with -o (--format)\n"),
        (["sacct", "-o", "nope"], 'sacct: error: Invalid field requested: "nope"\n'),
        (["scontrol", "show", "job", "999999"], "slurm_load_jobs error: Invalid job id specified\n"),
        (["sbatch", "--bb=x", "x.sh"], "sbatch: error: --bb is not supported by Muster yet\n"),
        (["scancel", "-s", "USR1", "999999"], "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"),
    ]
    for words, text in cases:
        result = cluster.run(*words, check=False)
        assert result.code == 1 and result.err.startswith(text), (words, result)
    unknown = cluster.run("sbatch", "--x11", "-", check=False)
    assert unknown.code == 255 and unknown.err.startswith("sbatch: unrecognized option '--x11'\n"), unknown
    assert cluster.run("scancel", "999999").err == ""
    for kind in ("Node", "Partition"):  # on standard output, as Slurm has it
        result = cluster.run("scontrol", "show", kind.lower(), "nope", check=False)
        assert (result.code, result.out) == (1, f"{kind} nope not found\n"), result
    refused = cluster.run("scontrol", "listpids", check=False)
    assert (refused.code, refused.err) == (1, "scontrol: error: listpids is not supported by Muster yet\n"), refused
    missing = cluster.run("squeue", "-w", "nope", check=False)
    assert (missing.code, missing.err) == (1, "squeue: error: Invalid node name nope\n"), missing


def test_columns_that_are_not_there_are_told_of_and_the_others_show(cluster):
    for words, text in [(["squeue", "-O", "JobID:|,Nope,State:|,"], "squeue: error: Invalid job format specification: Nope\n"),
                        (["sinfo", "-O", "Partition:|,Nope,"], "sinfo: error: Invalid node format specification: Nope\n")]:
        result = cluster.run(*words)
        assert result.err == text and result.out.splitlines()[0].count("|") == words[-1].count("|"), result


def test_a_login_environment_is_added(cluster):
    shell = pwd.getpwuid(os.getuid()).pw_shell
    if Path(shell).name in ("nologin", "false"):
        refused = cluster.run("sbatch", "--get-user-env", "--wrap", "true", check=False)
        assert refused.code == 1 and f"--get-user-env: the login shell {shell} gave no environment" in refused.err, refused
        return
    job = cluster.sbatch("env", "--get-user-env", "--export=NONE", "-o", "login.out")
    cluster.wait_state(job, "COMPLETED")
    assert "\nHOME=" in "\n" + (cluster.work / "login.out").read_text()


def test_a_step_of_a_job_that_waits_is_refused_at_once(cluster):
    job = cluster.sbatch("true", "-H")
    refused = cluster.run("srun", f"--jobid={job}", "true", check=False)
    assert refused.code == 1, refused
    assert refused.err.startswith(f"srun: error: Unable to confirm allocation for job {job}: Job is pending execution\n"), refused
    cluster.run("scancel", str(job))


def test_the_begin_of_a_waiting_job_can_be_moved(cluster):
    job = cluster.sbatch("true", "--begin=now+1day")
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    cluster.wait_ended(job)


def test_a_priority_of_zero_holds_and_another_releases(cluster):
    job = cluster.sbatch("true", "--begin=now+1day")
    def state():
        return cluster.run("squeue", "-h", "-j", str(job), "-o", "%t %r").out.strip()
    cluster.run("scontrol", "update", f"JobId={job}", "Priority=0")
    assert state().startswith("PD JobHeld")
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    assert state().startswith("PD JobHeld")
    cluster.run("scontrol", "update", f"JobId={job}", "Priority=10")
    cluster.wait_ended(job)


def test_only_what_takes_it_is_appended_to(cluster):
    job = cluster.sbatch("true", "-H")
    cluster.run("scontrol", "update", f"JobId={job}", "AdminComment=one")
    cluster.run("scontrol", "update", f"JobId={job}", "admincomment+=two")
    shown = cluster.run("scontrol", "show", "job", str(job)).out
    assert "AdminComment=onetwo" in shown
    for change in ("comment+=zz", "AdminComment-=one", "features+=x"):
        refused = cluster.run("scontrol", "update", f"JobId={job}", change, check=False)
        assert refused.code == 1 and "takes no" in refused.err, refused
    assert "Comment=+zz" not in cluster.run("scontrol", "show", "job", str(job)).out
    cluster.run("scancel", str(job))


def test_nobody_there(cluster, tmp_path):
    (tmp_path / "slurm.conf").write_text("ClusterName=gone\n")
    result = cluster.run("squeue", env={"SLURM_CONF": str(tmp_path / "slurm.conf")}, check=False)
    assert result.code == 1
    assert result.err == "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"


@pytest.mark.parametrize("name, value, said", [
    ("SCANCEL_NAME", "mine", None), ("SCANCEL_ACCOUNT", "mine", None), ("SCANCEL_QOS", "mine", None), ("SCANCEL_WCKEY", "mine", None),
    ("SCANCEL_STATE", "PENDING", None), ("SCANCEL_USER", "daemon", None), ("SCANCEL_INTERACTIVE", "1", "[y/n]?"),
    ("SCANCEL_HURRY", "1", "SCANCEL_HURRY is not supported")])
def test_scancel_heeds_its_variables(cluster, name, value, said):
    """What the variable leaves out survives."""
    other = cluster.sbatch("sleep 300", "-J", "other", "-A", "other", "-q", "other", "--wckey", "other")
    cluster.wait_state(other, "RUNNING")
    mine = cluster.sbatch("sleep 300", "-H", "-J", "mine", "-A", "mine", "-q", "mine", "--wckey", "mine")
    done = cluster.run("scancel", "-v", other, mine, env={name: value}, stdin="n\n", check=False)
    if said is not None:
        assert said in done.out + done.err
    assert cluster.run("squeue", "-h", "-j", other, "-o", "%T").out.strip() == "RUNNING"
    is_left = name in ("SCANCEL_USER", "SCANCEL_INTERACTIVE", "SCANCEL_HURRY")
    left = cluster.run("squeue", "-h", "-j", mine, "-o", "%T", check=False).out.strip()
    assert left == ("PENDING" if is_left else ""), done
    cluster.run("scancel", other, mine)


def test_a_variable_that_names_another_cluster_is_heeded(cluster):
    job = cluster.sbatch("sleep 300")
    for words in (["squeue"], ["sinfo"], ["scontrol", "show", "nodes"], ["sacct"], ["scancel", job]):
        refused = cluster.run(*words, env={"SLURM_CLUSTERS": "other"}, check=False)
        assert refused.code != 0 and "No cluster 'other'" in refused.err, words
        if words[0] != "scancel":
            cluster.run(*words, env={"SLURM_CLUSTERS": "muster"})
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%T").out.strip() in ("RUNNING", "PENDING")
    assert cluster.run("squeue", "-h", "-M", "muster", env={"SLURM_CLUSTERS": "other"}).code == 0, "an option overrides it"
    cluster.run("scancel", job)


@pytest.mark.parametrize("words", [["srun", "true"], ["salloc", "true"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_waits_for_a_controller_can_be_stopped(own_cluster, words, number):
    away = own_cluster(nodes=1)
    away.down()
    client = away.popen(*words)
    time.sleep(1)
    assert client.poll() is None, "it waits for a controller that restarts"
    client.send_signal(number)
    client.communicate(timeout=5)
    assert client.returncode == -number


@pytest.mark.parametrize("number, said, code", [
    (signal.SIGTERM, "forcing job termination", 137), (signal.SIGHUP, "forcing job termination", 137), (signal.SIGUSR1, "", 0)])
def test_signals_to_srun(cluster, number, said, code):
    """TERM and HUP end the step whatever its tasks trap; others are theirs."""
    srun = cluster.popen("srun", "sh", "-c", "trap 'echo got it; exit 0' TERM HUP USR1; echo ready; while :; do sleep 0.1; done")
    assert srun.stdout.readline() == "ready\n"
    srun.send_signal(number)
    out, err = srun.communicate(timeout=20)
    assert srun.returncode == code, err
    assert out == ("" if code else "got it\n")
    assert said in err and (said or "forcing" not in err)


@pytest.mark.parametrize("export", ["NONE", "FOO=1"])
def test_scripts_without_an_environment_find_srun(cluster, export):
    job = cluster.sbatch("srun echo inside", f"--export={export}", "-o", "bare.out")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "bare.out").read_text() == "inside\n"


def test_an_allocation_without_its_command_is_given_back(cluster):
    for words in (["no-such-program"], ["/tmp"], ["/etc/passwd"]):
        result = cluster.run("salloc", *words, check=False, env={"SLURM_EXIT_ERROR": "44"})
        job = re.match(r"salloc: Granted job allocation (\d+)\n", result.err).group(1)
        assert f'salloc: error: _fork_command: Unable to find command "{words[0]}"\nsalloc: Relinquishing job allocation {job}\n' in result.err
        assert result.code == 44, result
    assert cluster.run("salloc", "no-such-program", check=False).code == 1


@pytest.mark.parametrize("name, code", [("HUP", 0), ("INT", 0), ("QUIT", 0), ("KILL", 0), ("TERM", 1), ("USR1", 1), ("SEGV", 1)])
def test_salloc_whose_command_a_signal_ended(cluster, name, code):
    assert cluster.run("salloc", "-Q", "sh", "-c", f"kill -{name} $$", check=False).code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_salloc_that_is_signalled_gives_back_and_waits_for_its_command(cluster, number):
    salloc = cluster.popen("salloc", "sh", "-c", "trap '' INT QUIT; trap 'echo signalled' TERM HUP; echo ready; sleep 2; exit 7")
    assert salloc.stdout.readline() == "ready\n"
    salloc.send_signal(number)
    out, err = salloc.communicate(timeout=20)
    job = re.search(r"salloc: Granted job allocation (\d+)\n", err).group(1)
    assert (out, salloc.returncode) == ("", 7), err
    assert f"salloc: Job allocation {job} has been revoked.\n" in err and "Relinquishing" not in err
    assert cluster.wait_ended(job)["State"].startswith("CANCELLED")


def test_salloc_ends_with_its_terminal(cluster):
    salloc = cluster.popen("salloc", "sh", "-c", "trap 'echo gone; exit 0' HUP; echo ready; while :; do sleep 0.1; done")
    assert salloc.stdout.readline() == "ready\n"
    salloc.send_signal(signal.SIGHUP)
    out, err = salloc.communicate(timeout=20)
    job = re.search(r"salloc: Granted job allocation (\d+)\n", err).group(1)
    assert (out, salloc.returncode) == ("gone\n", 1) and f"salloc: Relinquishing job allocation {job}\n" in err, err
    assert cluster.wait_ended(job)["State"] == "COMPLETED"


def test_the_kill_command_of_an_allocation_that_is_signalled(cluster):
    salloc = cluster.popen("salloc", "-K", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done")
    assert salloc.stdout.readline() == "ready\n"
    salloc.send_signal(signal.SIGTERM)
    _, err = salloc.communicate(timeout=20)
    assert salloc.returncode == 9, err


def until_queued(client, name):
    """Reads what the command says until it says that it waits."""
    said = ""
    while not re.search(rf"^{name}: job \d+ queued and waiting for resources$", said, re.M):
        line = client.stderr.readline()
        assert line, said
        said += line
    return said


def test_who_waits_in_vain_ends_with_the_exit_code_chosen_for_it(cluster):
    chosen = {"SLURM_EXIT_ERROR": "44", "SLURM_EXIT_IMMEDIATE": "45"}
    holder = cluster.sbatch("sleep 60", "-N2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    for words in (["srun", "-I1", "true"], ["salloc", "-I1", "true"]):
        result = cluster.run(*words, check=False, env=chosen)
        assert result.code == 45 and "Unable to allocate resources: Requested nodes are busy\n" in result.err, result
    for words, said in ((["srun", "true"], "Force Terminated JobId="), (["salloc", "true"], "salloc: Job aborted due to signal\n")):
        waiting = cluster.popen("env", "SLURM_EXIT_ERROR=44", *words)
        begun = until_queued(waiting, words[0])
        waiting.send_signal(signal.SIGTERM)
        _, err = waiting.communicate(timeout=20)
        assert waiting.returncode == 44 and said in err and "has been revoked." in err, begun + err
    cluster.run("scancel", holder)


def test_a_job_that_is_only_tested_is_told_its_start_and_leaves_nothing(cluster):
    before = cluster.sbatch("true")
    cluster.wait_ended(before)
    until(lambda: cluster.run("squeue", "-h").out == "", "the jobs of before to be off their nodes")
    for words in (["sbatch", "--test-only", "-t", "5", "--wrap", "true"], ["srun", "--test-only", "-t", "5", "true"]):
        asked = cluster.run(*words)
        (line,) = asked.err.splitlines()
        assert re.fullmatch(rf"{words[0]}: Job \d+ to start at \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d a using 1 processors on nodes \S+ in partition \S+", line), line
        assert cluster.run("squeue", "-h").out == ""
    after = cluster.sbatch("true")
    assert int(after) == int(before) + 1, "a question takes no number"


def test_first_lines_of_refusals_are_slurms(cluster):
    cases = [
        (["srun", "-p", "nosuch", "true"], "srun: error: invalid partition specified: nosuch\n"
                                           "srun: error: Unable to allocate resources: Invalid partition name specified\n"),
        (["salloc", "-p", "nosuch", "true"], "salloc: error: invalid partition specified: nosuch\n"
                                             "salloc: error: Job submit/allocate failed: Invalid partition name specified\n"),
        (["srun", "--mem=999999G", "true"], "srun: error: Memory specification can not be satisfied\n"
                                            "srun: error: Unable to allocate resources: Requested node configuration is not available\n"),
        (["sbatch", "--test-only", "-p", "nosuch", "--wrap", "true"], "sbatch: error: invalid partition specified: nosuch\n"
                                                                      "allocation failure: Invalid partition name specified\n"),
        (["scontrol", "show", "job", "999999_3"], "slurm_load_jobs error: Invalid job id specified\n"),
        (["scontrol", "show", "step", "999999.0"], "slurm_get_job_steps error: Invalid job id specified\n"),
    ]
    for words, text in cases:
        result = cluster.run(*words, check=False)
        assert result.code == 1 and result.err.startswith(text), (words, result)
    for command in ("squeue", "sinfo", "sacct", "scancel", "sbatch", "srun", "salloc"):
        assert cluster.run(command, "--usage").out.startswith(f"Usage: {command} [")


@pytest.mark.parametrize("node", [1, 2])
def test_a_step_that_is_cancelled_says_so_once(cluster, node):
    srun = cluster.popen("env", f"SLURM_STEP_KILLED_MSG_NODE_ID={node - 1}", "srun", "-N2", "sh", "-c", "echo ready; sleep 60")
    assert srun.stdout.readline() == "ready\n" and srun.stdout.readline() == "ready\n"
    (job,) = set(cluster.run("squeue", "-h", "-o", "%i", "-n", "sh").out.split())
    cluster.run("scancel", f"{job}.0")
    _, err = srun.communicate(timeout=20)
    notices = re.findall(rf"^slurmstepd: error: \*\*\* STEP (\S+) ON node{node} CANCELLED AT \d{{4}}-\S+ DUE to SIGNAL Killed \*\*\*$", err, re.M)
    assert notices == [f"{job}.0"] and err.count("CANCELLED") == 1 and srun.returncode == 137, err
    # KillWait=2, and two seconds
    assert err.count("srun: Job step aborted: Waiting up to 4 seconds for job step to finish.\n") == 1, err


def test_tasks_are_told_of_addresses_and_of_their_own_gpus(cluster):
    (row,) = cluster.run("srun", "sh", "-c", "echo $SLURM_SRUN_COMM_HOST $SLURM_LAUNCH_NODE_IPADDR").out.splitlines()
    first, second = row.split()
    assert first == second and ipaddress.ip_address(first)
    show = "echo $SLURM_STEP_GPUS $SLURM_GPUS_ON_NODE $CUDA_VISIBLE_DEVICES"
    assert sorted(cluster.run("srun", "-N1", "-n2", "--gpus-per-task=1", "sh", "-c", show).out.splitlines()) == ["0 2 0", "1 2 1"]


def streams_of(pid):
    return [os.readlink(f"/proc/{pid}/fd/{number}") for number in range(3)]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_commands_without_standard_streams(cluster, closed):
    out_file = cluster.work / "out.txt"
    cluster.run("sh", "-c", f"sbatch --wrap true {closed}")
    cluster.run("sh", "-c", f"srun -o {out_file} echo ran {closed}")
    assert out_file.read_text() == "ran\n"
    name = f"streams{len(closed)}{closed[0]}"
    srun = cluster.popen("sh", "-c", f"exec srun -J '{name}' sleep 60 {closed}")
    until(lambda: cluster.run("squeue", "-h", "-t", "R", "-n", name).out, "the step runs")
    streams = streams_of(srun.pid)
    srun.terminate()
    srun.communicate(timeout=20)
    for number, word in enumerate(("<&-", ">&-", "2>&-")):
        assert (streams[number] == "/dev/null") == (word in closed.split()), (closed, streams)


def test_daemons_without_standard_streams(own_cluster):
    away = own_cluster(nodes=1)
    away.down()
    conf = away.dir / "slurm.conf"
    daemons = [away.popen("sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *words)
               for words in (["musterd", "-f", conf], ["muster-agent", "-f", conf, "-N", "node1"])]
    try:
        until(lambda: away.run("sinfo", "-h", "-o", "%t", check=False).out == "idle\n",
              lambda: f"the node is there: {away.run('sinfo', '-R', check=False)}, daemons ended with {[one.poll() for one in daemons]}")
        assert away.run("srun", "echo", "ran").out == "ran\n"
        streams = [streams_of(daemon.pid) for daemon in daemons]
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.communicate(timeout=20)
    assert streams == [["/dev/null"] * 3] * 2
    assert away.run("sh", "-c", f"exec muster-stepd --spool {away.work} <&-").out == ""


def test_jobs_are_held_by_name(cluster):
    first, second = (cluster.sbatch("true", "--begin=now+1hour", "-J", "of-this-name") for _ in range(2))
    other = cluster.sbatch("true", "--begin=now+1hour", "-J", "of-another")
    cluster.run("scontrol", "hold", "jobname=of-this-name")
    reasons = dict(line.split() for line in cluster.run("squeue", "-h", "-o", "%i %r", "-j", f"{first},{second},{other}").out.splitlines())
    assert reasons == {str(first): "JobHeldAdmin", str(second): "JobHeldAdmin", str(other): "BeginTime"}, "the cluster is the caller's own"
    cluster.run("scontrol", "release", "name=of-this-name")
    assert "JobHeld" not in cluster.run("squeue", "-h", "-o", "%r", "-j", f"{first},{second}").out
    assert "no job of that name" in cluster.run("scontrol", "hold", "jobname=none-has-it").err
    cluster.run("scontrol", "update", "JobName=of-this-name", "comment=both")
    shown = cluster.run("squeue", "-h", "-O", "JobID,Comment", "-j", f"{first},{second},{other}").out
    assert {line.split()[0] for line in shown.splitlines() if "both" in line} == {str(first), str(second)}
    refused = cluster.run("scontrol", "update", "JobName=none-has-it", "comment=x", check=False)
    assert refused.code == 1 and "No jobs with name 'none-has-it'" in refused.err
    refused = cluster.run("scontrol", "requeue", "jobname=of-this-name", check=False)
    assert refused.code == 1 and "Invalid job id specified for job jobname=of-this-name" in refused.err
    cluster.run("scancel", first, second, other)


def test_users_that_are_not_there_are_told_and_the_others_shown(cluster):
    job = cluster.sbatch("true", "--begin=now+1hour")
    nobody = cluster.run("squeue", "-h", "-u", "nosuchuser")
    assert nobody.out == "" and "Invalid user: nosuchuser" in nobody.err
    me = cluster.run("id", "-un").out.strip()
    assert str(job) in cluster.run("squeue", "-h", "-o", "%i", "-u", f"nosuchuser,{me}").out.split()
    cluster.run("scancel", job)


def test_a_step_beside_a_controller_that_stands_still_is_told_so(cluster):
    salloc = cluster.popen("salloc", "-Q", "sh", "-c", "echo ready; read go; srun echo ran")
    assert salloc.stdout.readline() == "ready\n"
    controller = cluster.pid("controller")
    os.kill(controller, signal.SIGSTOP)
    try:
        salloc.stdin.write("go\n")
        salloc.stdin.flush()
        time.sleep(5)
    finally:
        os.kill(controller, signal.SIGCONT)
    out, err = salloc.communicate(timeout=30)
    assert out == "ran\n" and "retrying (The controller does not answer)" in err and "busy" not in err, (out, err)
