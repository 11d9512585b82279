"""The commands against real daemons: srun's streams and signals, salloc, what clients parse, exit codes."""
import os
import pwd
import re
import signal
import time
from pathlib import Path

from conftest import ends_told


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
    assert result.code == 2 and "No such file or directory" in result.err


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
    (cluster.work / "programs").write_text("0 echo first %t\n* echo other %t %o\n")
    out = cluster.run("srun", "-n3", "-l", "--multi-prog", "programs").out
    assert sorted(out.splitlines()) == ["0: first 0", "1: other 1 0", "2: other 2 1"]


def test_salloc_runs_steps_and_returns_its_command_s_code(cluster):
    script = 'srun -l hostname; srun -n1 sh -c "echo step $SLURM_STEP_ID"; squeue -h -s; exit 5'
    result = cluster.run("salloc", "-N2", "-n2", "sh", "-c", script, check=False)
    assert result.code == 5
    assert sorted(result.out.splitlines())[:2] == ["0: node1", "1: node2"]
    job = re.search(r"salloc: Granted job allocation (\d+)\n", result.err).group(1)
    assert f"salloc: Relinquishing job allocation {job}\n" in result.err and "warning" not in result.err
    assert "\n     " not in result.out  # no step was left behind


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
        (["sacct", "-o", "nope"], 'sacct: error: Invalid field requested: "nope"\n'),
        (["scontrol", "show", "job", "999999"], "slurm_load_jobs error: Invalid job id specified\n"),
        (["sbatch", "--x11", "-"], "sbatch: unrecognized option '--x11'\n"),
        (["sbatch", "--bb=x", "x.sh"], "sbatch: error: --bb is not supported by Muster yet\n"),
        (["scancel", "-s", "USR1", "999999"], "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"),
    ]
    for words, text in cases:
        result = cluster.run(*words, check=False)
        assert result.code == 1 and result.err.startswith(text), (words, result)
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


def test_nobody_there(cluster, tmp_path):
    (tmp_path / "slurm.conf").write_text("ClusterName=gone\n")
    result = cluster.run("squeue", env={"SLURM_CONF": str(tmp_path / "slurm.conf")}, check=False)
    assert result.code == 1
    assert result.err == "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
