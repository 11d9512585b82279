"""Batch jobs: submission, output, environment, exit codes, arrays, dependencies, limits, cancelling."""
import json
import re
import time

import pytest

from conftest import until


def read(cluster, name):
    return (cluster.work / name).read_text()


def test_submit_prints_the_id_and_output_lands_in_the_default_file(cluster):
    result = cluster.run("sbatch", stdin="#!/bin/sh\necho hello from $SLURM_JOB_ID\n")
    job = int(re.fullmatch(r"Submitted batch job (\d+)\n", result.out).group(1))
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert read(cluster, f"slurm-{job}.out") == f"hello from {job}\n"


def test_environment_of_a_batch_script(cluster):
    job = cluster.sbatch("env", "-N2", "-n4", "-c2", "--gpus-per-node=1", "-J", "envy", "-o", "env-%j.txt",
                         env={"MINE": "kept"})
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    env = dict(line.split("=", 1) for line in read(cluster, f"env-{job}.txt").splitlines() if "=" in line)
    expected = {
        "SLURM_JOB_ID": str(job), "SLURM_JOBID": str(job), "SLURM_JOB_NAME": "envy", "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NODELIST": "node[1-2]", "SLURM_NTASKS": "4",
        "SLURM_NPROCS": "4", "SLURM_CPUS_PER_TASK": "2", "SLURM_TASKS_PER_NODE": "2(x2)",
        "SLURM_JOB_CPUS_PER_NODE": "4(x2)", "SLURM_GPUS_ON_NODE": "1", "SLURM_JOB_GPUS": "0",
        "CUDA_VISIBLE_DEVICES": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
        "SLURMD_NODENAME": "node1", "SLURM_JOB_PARTITION": "main", "SLURM_CLUSTER_NAME": "muster", "MINE": "kept",
        "SLURM_SUBMIT_DIR": str(cluster.work), "SLURM_GPUS_PER_NODE": "1",
    }
    assert {k: env.get(k) for k in expected} == expected
    assert "SLURM_RESTART_COUNT" not in env, "Slurm sets it only after a restart"
    assert "SLURM_ARRAY_TASK_ID" not in env and "SLURM_NTASKS_PER_NODE" not in env


def test_exit_codes_and_signals_are_reported(cluster):
    failed = cluster.sbatch("exit 7")
    killed = cluster.sbatch("kill -9 $$")
    assert cluster.wait_ended(failed) == {"JobID": str(failed), "State": "FAILED", "ExitCode": "7:0"}
    assert cluster.wait_ended(killed)["ExitCode"] == "0:9"
    reason = cluster.run("scontrol", "show", "job", failed).out
    assert "JobState=FAILED Reason=NonZeroExitCode" in reason and "ExitCode=7:0" in reason


def test_script_arguments_and_working_directory(cluster):
    script = cluster.work / "args.sh"
    script.write_text("#!/bin/bash\necho $# \"$2\" $PWD\n")
    (cluster.work / "sub").mkdir(exist_ok=True)
    out = cluster.run("sbatch", "--parsable", "-D", cluster.work / "sub", "-o", "a.out", script, "one", "two words").out
    cluster.wait_ended(int(out))
    assert read(cluster, "sub/a.out") == f"2 two words {cluster.work}/sub\n"


def test_array_elements_run_once_each_under_their_ids(cluster):
    job = cluster.sbatch('echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MAX"',
                         "--array=0-6:2%2", "-o", "arr-%A_%a.out")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        rows = cluster.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "JobID,State").out.split()
        if sorted(rows) == [f"{job}_{i}|COMPLETED" for i in (0, 2, 4, 6)]:
            break
        time.sleep(0.1)
    assert sorted(rows) == [f"{job}_{i}|COMPLETED" for i in (0, 2, 4, 6)]
    assert read(cluster, f"arr-{job}_4.out") == f"{job} 4 4 6\n"


def test_dependencies_hold_and_release(cluster):
    first = cluster.sbatch("sleep 0.5; exit 1")
    after_any = cluster.sbatch("exit 0", f"--dependency=afterany:{first}")
    after_ok = cluster.sbatch("exit 0", f"--dependency=afterok:{first}")
    shown = cluster.run("squeue", "-h", "-o", "%i %T %r", "-j", f"{after_any},{after_ok}").out
    assert f"{after_any} PENDING Dependency" in shown
    assert cluster.wait_ended(after_any)["State"] == "COMPLETED"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if "DependencyNeverSatisfied" in cluster.run("squeue", "-h", "-o", "%r", "-j", after_ok).out:
            break
        time.sleep(0.05)
    assert "DependencyNeverSatisfied" in cluster.run("squeue", "-h", "-o", "%r", "-j", after_ok).out
    cluster.run("scancel", after_ok)


def test_cancel_ends_everything_that_a_job_started(cluster):
    marker = f"6{int(time.time()) % 100000}"
    job = cluster.sbatch(f"(setsid sh -c 'trap \"\" TERM; sleep {marker}' &) ; (sleep {marker} &) ; trap '' TERM; sleep {marker}")
    cluster.wait_state(job, "RUNNING")
    time.sleep(0.5)
    cluster.run("scancel", job)
    row = cluster.wait_state(job, "CANCELLED", timeout=15)
    assert row["State"].startswith("CANCELLED by ")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and cluster.run("pgrep", "-f", f"sleep {marker}", check=False).code == 0:
        time.sleep(0.1)
    assert cluster.run("pgrep", "-f", f"sleep {marker}", check=False).code == 1


@pytest.mark.long
def test_time_limit_warns_then_ends(own_cluster):
    cluster = own_cluster(nodes=1, conf={"KillWait": "1", "OverTimeLimit": "0"})
    job = cluster.sbatch("trap 'echo warned' USR1; for i in 1 2 3 4 5 6 7 8 9; do sleep 10 & wait $!; done", "--time=0:02",
                         "--signal=B:USR1@50", "-o", "limit.out")
    by_step = cluster.sbatch("srun -n1 --time=1 --signal=USR1@50 sh -c 'trap \"echo warned\" USR1; for i in 1 2 3 4 5 6 7 8 9; do sleep 10; done'\n"
                             "echo code $?", "-n1", "-o", "step.out", "-e", "step.err")
    row = cluster.wait_ended(job, timeout=90)
    assert row["State"] == "TIMEOUT"
    text = read(cluster, "limit.out")
    assert "warned" in text
    assert re.search(rf"slurmstepd: error: \*\*\* JOB {job} ON node1 CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*", text)
    # A limit of the step's own ends the step and lets the script go on.
    assert cluster.wait_ended(by_step, timeout=90)["State"] == "COMPLETED"
    assert cluster.run("sacct", "-n", "-P", "-j", f"{by_step}.0", "-o", "State").out == "TIMEOUT\n"
    assert "warned" in read(cluster, "step.out") and "code 0" not in read(cluster, "step.out")
    assert f"STEP {by_step}.0 ON node1 CANCELLED" in read(cluster, "step.err")


def test_hold_release_and_requeue(cluster):
    job = cluster.sbatch("echo run ${SLURM_RESTART_COUNT:-0}; sleep 30", "--hold", "-o", "requeue.out", "--open-mode=append")
    assert cluster.run("squeue", "-h", "-o", "%T %r", "-j", job).out == "PENDING JobHeldUser\n"
    cluster.run("scontrol", "release", job)
    cluster.wait_state(job, "RUNNING")
    time.sleep(0.3)
    cluster.run("scontrol", "requeue", job)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and "run 1" not in read(cluster, "requeue.out"):
        time.sleep(0.1)
    assert "run 0\n" in read(cluster, "requeue.out") and "run 1\n" in read(cluster, "requeue.out")
    cluster.run("scancel", job)
    cluster.wait_ended(job)


@pytest.mark.parametrize("options, text", [
    (("-p", "nowhere"), "invalid partition specified: nowhere"),
    (("--gres=gpu:99",), "Requested node configuration is not available"),
    (("-w", "node77"), "Invalid node name specified"),
    (("-C", "unobtainium"), "Invalid feature specification"),
    (("--gres=warp:1",), "Invalid generic resource (gres) specification"),
    (("--array=0-5000",), "Invalid job array specification"),
    (("-d", "afterok:999999"), "Job dependency problem"),
    (("-N", "99"), "Requested node configuration is not available"),
])
def test_impossible_requests_are_refused_with_the_cause(cluster, options, text):
    result = cluster.run("sbatch", *options, "--wrap", "true", check=False)
    assert result.code == 1 and text in result.err, result
    assert result.out == ""


def test_unwritable_output_is_a_clear_reason(cluster):
    (cluster.work / "plain").write_text("")
    job = cluster.sbatch("true", "-o", "plain/folder/out.txt")
    row = cluster.wait_ended(job)
    assert row["State"] == "FAILED"
    shown = cluster.run("scontrol", "show", "job", job).out
    assert "plain/folder" in shown and "Not a directory" in shown


def test_folders_of_output_files_are_made(cluster):
    job = cluster.sbatch("umask; echo out; echo err >&2; srun -o steps/%s/%t.txt hostname", "-J", "made", "-o", "logs/%x/%j.out",
                         "-e", "errors/%j/x.err")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert read(cluster, f"logs/made/{job}.out").endswith("out\n") and read(cluster, f"errors/{job}/x.err") == "err\n"
    assert read(cluster, "steps/0/0.txt") == "node1\n" or read(cluster, "steps/0/0.txt").strip()
    assert (cluster.work / "logs").stat().st_mode & 0o777 == 0o755


@pytest.mark.root_only
def test_folders_of_output_files_are_the_users_own(cluster):
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sbatch", "--parsable", "--wrap", "true", "-o"]
    private = cluster.base / "of-root"
    private.mkdir(mode=0o755, exist_ok=True)
    job = cluster.run(*as_nobody, f"{private}/sub/x.out").out.strip()
    assert cluster.wait_ended(job)["State"] == "FAILED", "made with root's rights"
    assert not (private / "sub").exists()
    job = cluster.run(*as_nobody, "of-nobody/x.out").out.strip()
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert (cluster.work / "of-nobody").stat().st_uid == 65534


def test_a_job_that_ends_itself_has_its_answer(cluster):
    script = ("[ ${SLURM_RESTART_COUNT:-0} = 0 ] || { echo again; exit 0; }\ntrap 'echo ended; exit 1' TERM\n"
              "scontrol requeue $SLURM_JOB_ID; echo rc=$?\nsleep 30 & wait\n")
    jobs = [cluster.sbatch(script, "-o", f"self-{i}.out", "--open-mode=append") for i in range(6)]
    for i, job in enumerate(jobs):
        until(lambda: "again" in read(cluster, f"self-{i}.out"), f"job {job} again")
        told = read(cluster, f"self-{i}.out").splitlines()
        assert told[0] == "rc=0" and "ended" in told
    job = cluster.sbatch("scancel $SLURM_JOB_ID; echo rc=$?; sleep 30", "-o", "self-cancel.out")
    assert cluster.wait_ended(job)["State"].startswith("CANCELLED")
    assert read(cluster, "self-cancel.out").startswith("rc=0\n")


def test_large_and_broken_scripts_are_refused(cluster):
    big = cluster.run("sbatch", stdin="#!/bin/sh\n" + "#" * (5 << 20), check=False)
    assert big.code == 1 and "size limit" in big.err
    dos = cluster.run("sbatch", stdin="#!/bin/sh\r\ntrue\r\n", check=False)
    assert dos.code == 1 and "DOS line breaks" in dos.err
    none = cluster.run("sbatch", stdin="echo hi\n", check=False)
    assert none.code == 1 and "This does not look like a batch script" in none.err


def test_a_task_inherits_nothing_of_the_daemons(cluster):
    probe = "import os,resource,signal,json;s=dict(l.split(':',1) for l in open('/proc/self/status') if l.startswith('Sig'));" \
            "print(json.dumps({'fds':sorted(os.listdir('/proc/self/fd')),'ign':s['SigIgn'].strip(),'blk':s['SigBlk'].strip()," \
            "'nofile':resource.getrlimit(resource.RLIMIT_NOFILE)[0]}))"
    # -I keeps Python from handling what the shell passes on; SIGPIPE and SIGXFSZ are ignored by Python itself.
    plain = cluster.run("/bin/sh", "-c", f"exec /usr/bin/python3 -I -c \"{probe}\" < /dev/null")
    job = cluster.sbatch(f"exec /usr/bin/python3 -I -c \"{probe}\"", "-o", "inherit.out")
    cluster.wait_ended(job)
    ours, theirs = json.loads(read(cluster, "inherit.out")), json.loads(plain.out)
    theirs.pop("ign")  # whoever runs the tests may ignore some
    assert ours.pop("ign") == "0000000001001000"  # Python's own: SIGPIPE and SIGXFSZ
    assert ours == theirs


def test_mail_is_sent_by_the_mail_program(own_cluster, tmp_path):
    tmp_path.chmod(0o777)
    sent = tmp_path / "sent"
    program = tmp_path / "mail.sh"
    program.write_text(f'#!/bin/sh\nprintf "%s|%s|%s|%s\\n" "$1" "$2" "$3" "$SLURM_JOB_ID" >> {sent}\n')
    program.chmod(0o755)
    cluster = own_cluster(nodes=1, conf={"MailProg": str(program)})
    job = cluster.sbatch("exit 3", "--mail-type=BEGIN,FAIL", "--mail-user=ada", "-J", "train")
    cluster.wait_ended(job)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (not sent.exists() or len(sent.read_text().splitlines()) < 2):
        time.sleep(0.05)
    begun, failed = sent.read_text().splitlines()
    assert begun.startswith(f"-s|Slurm Job_id={job} Name=train Began, Queued time ") and begun.endswith(f"|ada|{job}")
    assert "Failed, Run time" in failed and "FAILED, ExitCode 3" in failed


def test_defaults_become_facts_of_the_job(own_cluster):
    cluster = own_cluster(nodes=1, conf={"JobRequeue": "0", "DefMemPerCPU": "100"})
    job = cluster.sbatch("true", "-n2", "--hold")
    shown = cluster.run("scontrol", "show", "job", job).out
    assert "Requeue=0" in shown and "MinMemoryCPU=100M" in shown
    assert "Requeue=1" in cluster.run("scontrol", "show", "job", cluster.sbatch("true", "--hold", "--requeue")).out


def test_history_answers_for_jobs_that_have_left_memory(own_cluster):
    cluster = own_cluster(nodes=1, conf={"MinJobAge": "2"})
    good, bad = cluster.sbatch("exit 0"), cluster.sbatch("exit 3")
    array = cluster.sbatch("exit $SLURM_ARRAY_TASK_ID", "--array=0-1")
    for job in (good, bad):
        cluster.wait_ended(job)
    until(lambda: not any(cluster.run("scontrol", "show", "job", job, check=False).out for job in (good, bad, array)), "all have left memory")
    after_good = cluster.sbatch("exit 0", "-d", f"afterok:{good},afternotok:{bad},afterok:{array}_0")
    assert cluster.wait_ended(after_good)["State"] == "COMPLETED"
    never = cluster.sbatch("exit 0", "-d", f"afterok:{bad}")
    until(lambda: "DependencyNeverSatisfied" in cluster.run("squeue", "-h", "-o", "%r", "-j", never).out, "the dependency fails")
    end = cluster.sbatch("exit 0", "--kill-on-invalid-dep=yes", "-d", f"afterok:{array}")
    until(lambda: cluster.job(end, "State")["State"].startswith("CANCELLED"), "it is cancelled")
    unknown = cluster.run("sbatch", "-d", f"aftercorr:{array}", "--wrap", "true", check=False)
    assert unknown.code == 1 and "Job dependency problem" in unknown.err


def test_signals_that_a_job_sends_itself_come_at_once(cluster):
    script = """trap 'echo got' USR1
    scancel -b -s USR1 $SLURM_JOB_ID; sleep 0.2; echo after the first
    srun -n1 sh -c 'scancel -b -s USR1 $SLURM_JOB_ID'; sleep 0.2; echo end"""
    job = cluster.sbatch(script, "-o", "own-signal.out")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    assert read(cluster, "own-signal.out").split("\n")[:4] == ["got", "after the first", "got", "end"]


def test_a_job_that_holds_itself_comes_back_held(cluster):
    job = cluster.sbatch("scontrol hold $SLURM_JOB_ID; echo $?; scontrol requeue $SLURM_JOB_ID; sleep 60", "-o", "held.out", "--requeue")
    until(lambda: "JobHeld" in cluster.run("squeue", "-h", "-o", "%r", "-j", job).out, "the job waits, held", 30)
    assert read(cluster, "held.out").startswith("0\n")
    cluster.run("scancel", job)


def test_masks_of_files_come_from_the_environment(cluster):
    job = cluster.run("sbatch", "--parsable", "-o", "mask.out", "--wrap", "touch mask.new", env={"SLURM_UMASK": "0077"}).out.strip()
    cluster.wait_ended(job)
    assert [(cluster.work / name).stat().st_mode & 0o777 for name in ("mask.out", "mask.new")] == [0o600, 0o600]


def test_lines_of_other_schedulers_are_refused_unless_passed_over(cluster):
    for script in ("#PBS -N other\ntrue", "#SBATCH -n1\n#PBS -l walltime=00:07:00\ntrue", "#SBATCH -n1\n#BSUB -n 2\ntrue"):
        text = "#!/bin/sh\n" + script
        refused = cluster.run("sbatch", stdin=text, check=False)
        assert refused.code == 1 and "#PBS and #BSUB options are not supported" in refused.err and "--ignore-pbs" in refused.err
        assert cluster.run("sbatch", "--ignore-pbs", "-H", stdin=text).code == 0
        job = cluster.run("sbatch", "--parsable", "-H", stdin=text, env={"SBATCH_IGNORE_PBS": "1"}).out.strip()
        cluster.run("scancel", job)
    cluster.run("scancel", "--state=PENDING", "--me")


def test_an_id_that_cannot_be_written_is_told_as_an_error(cluster):
    told = cluster.run("sh", "-c", "sbatch -H --wrap true > /dev/full", check=False)
    job = re.search(r"job (\d+) was submitted", told.err)
    assert told.code == 1 and job, told
    assert "JobState=PENDING" in cluster.run("scontrol", "show", "job", job[1]).out
    cluster.run("scancel", job[1])
