"""srun and salloc: layout, streams, exits, several steps at once."""
import os
import resource
import shlex
import signal
import time

import pytest

from conftest import ends_told, until


def lines(result):
    return sorted(result.out.splitlines())


def test_ranks_lie_over_the_nodes_in_blocks(cluster):
    out = cluster.run("srun", "-N2", "-n4", "-l", "sh", "-c", "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME")
    rows = [line.split() for line in lines(out)]
    assert [r[0] for r in rows] == ["0:", "1:", "2:", "3:"] and [r[1] for r in rows] == ["0", "1", "2", "3"]
    assert {r[4] for r in rows} == {"node1", "node2"}


def test_output_is_binary_safe_and_whole(cluster):
    out = cluster.run("srun", "-n1", "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' 'x'")
    assert len(out.out) == 3_000_000


def test_input_goes_to_all_tasks_or_one(cluster):
    assert lines(cluster.run("srun", "-n2", "-l", "cat", stdin="hello\n")) == ["0: hello", "1: hello"]
    assert lines(cluster.run("srun", "-n2", "-l", "-i", "1", "cat", stdin="hello\n")) == ["1: hello"]


def test_exit_codes_and_their_messages(cluster):
    failed = cluster.run("srun", "-n2", "sh", "-c", "exit 3", check=False)
    assert failed.code == 3 and ends_told(failed.err) == {0: "Exited with exit code 3", 1: "Exited with exit code 3"}
    killed = cluster.run("srun", "-n1", "sh", "-c", "kill -9 $$", check=False)
    assert killed.code == 137 and "task 0: Killed" in killed.err
    absent = cluster.run("srun", "-n1", "no-such-program", check=False)
    assert absent.code == 2 and "No such file or directory" in absent.err


def test_steps_inside_an_allocation_share_its_cpus_in_turn(cluster):
    job = cluster.sbatch("for i in 1 2 3 4; do srun -n1 -c1 --exact sh -c 'sleep 0.3; taskset -pc $$ | sed \"s/.*: //\"' & done; wait",
                         "-N1", "-n4", "-o", "steps.out")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    rows = cluster.run("sacct", "-n", "-P", "-j", job, "-o", "JobID,State").out.split()
    assert {f"{job}.{i}|COMPLETED" for i in range(4)} <= set(rows) and f"{job}.batch|COMPLETED" in rows


def test_salloc_runs_a_command_here_and_gives_back(cluster):
    result = cluster.run("salloc", "-N2", "-n2", "sh", "-c", "srun hostname | sort; echo $SLURM_JOB_NODELIST; exit 5", check=False)
    assert result.code == 5 and result.out.split() == ["node1", "node2", "node[1-2]"]
    assert "Granted job allocation" in result.err and "Relinquishing job allocation" in result.err


def test_srun_survives_a_restart_of_the_controller(own_cluster):
    cluster = own_cluster(nodes=1)
    step = cluster.popen("srun", "-n1", "sh", "-c", "echo one; sleep 3; echo two; exit 6")
    time.sleep(1)
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    time.sleep(0.5)
    cluster.up()
    out, err = step.communicate(timeout=30)
    assert out == "one\ntwo\n" and step.returncode == 6, (out, err)


def test_a_failing_task_ends_the_step_at_once_with_K(cluster):
    begin = time.monotonic()
    result = cluster.run("srun", "-K1", "-n2", "sh", "-c", '[ "$SLURM_PROCID" = 0 ] && exit 7; exec sleep 60', check=False)
    assert result.code == 143, result
    assert "task 0: Exited with exit code 7" in result.err and "Terminating" in result.err
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("option, code, said", [("-K", 9, "got term\n"), ("-W1", 137, "")])
def test_K_gives_the_other_tasks_notice_and_W_does_not(cluster, option, code, said):
    script = "trap 'echo got term; exit 9' TERM; [ $SLURM_PROCID = 1 ] && { sleep 1; exit 3; }; sleep 30 & wait"
    result = cluster.run("srun", "-n2", option, "sh", "-c", script, check=False)
    assert (result.out, result.code) == (said, code), result


def test_a_task_that_survives_the_notice_of_K_is_killed(cluster):
    script = "trap 'echo got term' TERM; [ $SLURM_PROCID = 1 ] && { sleep 1; exit 3; }; while :; do sleep 30 & wait; done"
    result = cluster.run("srun", "-n2", "-K", "sh", "-c", script, check=False)
    assert (result.out, result.code) == ("got term\n", 137), result


def test_an_end_is_told_although_something_left_behind_holds_the_output(cluster):
    result = cluster.run("srun", "-K1", "-n2", "sh", "-c", '[ "$SLURM_PROCID" = 0 ] && { sleep 60 & exit 7; }; exec sleep 60', check=False)
    assert "task 0: Exited with exit code 7" in result.err and "Terminating" in result.err


def test_gpus_of_a_step_are_those_asked_for(cluster):
    job = cluster.sbatch("srun -n2 -N2 --gpus=2 -l sh -c 'echo $CUDA_VISIBLE_DEVICES'\nsrun -n1 -N1 --gpus=5 true",
                         "-N2", "-n2", "--gpus-per-node=2", "-o", "gpus.out")
    cluster.wait_ended(job)
    out = (cluster.work / "gpus.out").read_text()
    assert "0: 0\n" in out and "1: 0\n" in out and "does not have the nodes or generic resources" in out, out


def test_output_of_one_task_alone(cluster):
    say = ["sh", "-c", "echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2"]
    one = cluster.run("srun", "-n3", "-o", "1", *say)
    assert one.out == "out 1\n" and one.err == "err 1\n" and not (cluster.work / "1").exists()
    both = cluster.run("srun", "-n2", "-o", "0", "-e", "all", *say)
    assert both.out == "out 0\n" and sorted(both.err.splitlines()) == ["err 0", "err 1"]
    cluster.run("srun", "-n2", "-o", "7", *say)  # no task has that number
    assert sorted((cluster.work / "7").read_text().splitlines()) == ["err 0", "err 1", "out 0", "out 1"]


def test_one_output_file_gathers_all_nodes(cluster):
    (cluster.work / "all.txt").write_text("old\n")
    cluster.run("srun", "-N2", "-n4", "-l", "-o", "all.txt", "sh", "-c", "echo $SLURMD_NODENAME; printf end")
    got = sorted((cluster.work / "all.txt").read_text().splitlines())
    assert [line[:3] for line in got] == ["0: ", "0: ", "1: ", "1: ", "2: ", "2: ", "3: ", "3: "], got
    assert {line[3:] for line in got} == {"end", "node1", "node2"}
    cluster.run("srun", "-N2", "-o", "all.txt", "--open-mode=append", "hostname")
    assert len((cluster.work / "all.txt").read_text().splitlines()) == 10
    job = cluster.sbatch("srun -o '%x-%j.%s.txt' -e 'e-%A.txt' sh -c 'echo out; echo err >&2'", "-J", "named")
    cluster.wait_ended(job)
    assert (cluster.work / f"named-{job}.0.txt").read_text() == "out\n" and (cluster.work / f"e-{job}.txt").read_text() == "err\n"


def test_folders_of_output_files_are_made(cluster):
    cluster.run("srun", "-N2", "-o", "made/%j.out", "-e", "made/deep/%t/e.txt", "sh", "-c", "echo out; echo err >&2")
    (out,) = (cluster.work / "made").glob("*.out")
    assert out.read_text() == "out\nout\n"
    assert [(cluster.work / f"made/deep/{i}/e.txt").read_text() for i in range(2)] == ["err\n", "err\n"]


def test_files_of_single_tasks_are_labelled_too(cluster):
    cluster.run("srun", "-N2", "-l", "-o", "task-%t.txt", "sh", "-c", "echo one; printf two")
    assert [(cluster.work / f"task-{i}.txt").read_text() for i in range(2)] == ["0: one\n0: two\n", "1: one\n1: two\n"]


def test_an_output_file_that_cannot_be_opened_fails_the_step(cluster):
    (cluster.work / "plain").write_text("")
    result = cluster.run("srun", "-o", "plain/x", "true", check=False)
    assert result.code == 1 and "plain/x" in result.err and "Not a directory" in result.err
    assert cluster.run("squeue", "-h").out == ""


def test_a_reader_that_has_gone_costs_no_result(cluster):
    work = "for i in 1 2 3; do echo epoch $i; sleep .3; done; echo weights > result.txt"
    done = cluster.run("bash", "-c", f"set -eo pipefail; srun bash -c '{work}' | head -1; echo went on")
    assert done.out == "epoch 1\nwent on\n"
    assert (cluster.work / "result.txt").read_text() == "weights\n"


def test_a_reader_that_has_gone_ends_what_only_writes(cluster):
    begin = time.monotonic()
    out = cluster.run("sh", "-c", "srun -n2 yes | head -1; sleep 1; squeue -h")
    assert out.out == "y\n" and time.monotonic() - begin < 30


def test_devices_of_others_are_not_seen(cluster):
    seen = "echo ${CUDA_VISIBLE_DEVICES-unset} ${SLURM_STEP_GPUS-unset} ${SLURM_GPUS_ON_NODE-unset}"
    outside = {"CUDA_VISIBLE_DEVICES": "7"}
    assert cluster.run("srun", "sh", "-c", seen, env=outside).out == "unset unset unset\n"
    job = cluster.sbatch(f"{seen}\nsrun -n1 --gres=none sh -c '{seen}'\nsrun -n1 --gpus=0 sh -c '{seen}'\nsrun -n1 sh -c '{seen}'",
                         "--gpus-per-node=2", "-o", "devices.out", env=outside)
    cluster.wait_ended(job)
    rows = (cluster.work / "devices.out").read_text().splitlines()
    assert rows == ["0,1 unset 2", "unset unset unset", "unset unset unset", "0,1 0,1 2"], rows


def test_gpu_binding(cluster):
    def seen(*options, amount="--gpus=2"):
        out = cluster.run("srun", "-N1", "-n2", amount, "-l", *options, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
        return [line.split()[1] for line in lines(out)]

    assert seen() == ["0,1", "0,1"] and seen("--gpu-bind=closest") == ["0,1", "0,1"]
    assert seen("--gpu-bind=single:1") == ["0", "1"] and seen("--gpu-bind=single:2") == ["0", "0"]
    assert seen("--gpu-bind=per_task:1") == ["0", "1"] and seen("--gpu-bind=map:1,0") == ["1", "0"]
    assert seen("--gpu-bind=mask:0x2,3") == ["1", "0,1"] and seen("--ntasks-per-gpu=1") == ["0", "1"]
    assert seen(amount="--gpus-per-task=1") == ["0", "1"]
    assert seen("--gpu-bind=none", amount="--gpus-per-task=1") == ["0,1", "0,1"]
    told = cluster.run("srun", "-n1", "--gpus=1", "--gpu-bind=verbose,single:1", "true")
    assert "gpu-bind: usable_gres=0x1" in told.err
    refused = cluster.run("srun", "--gpu-bind=bogus", "true", check=False)
    assert refused.code == 255 and "bogus" in refused.err


def test_steps_go_by_what_their_job_says_of_gpus(cluster):
    def seen(step, *options):
        out = cluster.run("salloc", "-Q", "-N1", "-n2", *options, "sh", "-c", f"{step} -l sh -c 'echo $CUDA_VISIBLE_DEVICES'")
        assert "no effect" not in out.err
        return [line.split()[1:] for line in lines(out)]

    assert seen("srun", "--gres=gpu:2", "--gpu-bind=single:1") == [["0"], ["1"]]
    assert seen("srun", "--gres=gpu:2", "--tres-bind=gres/gpu:map:1,0") == [["1"], ["0"]]
    assert seen("srun -n2 --ntasks-per-gpu=2", "--gpus-per-task=1") == [["0"], ["0"]], "two tasks on one GPU of the job's two"
    job = cluster.sbatch("srun -n1 --gpus-per-task=1 echo ran", "--ntasks-per-gpu=1", "--gpus=1", "-o", "ran.out")
    cluster.wait_ended(job)
    assert (cluster.work / "ran.out").read_text() == "ran\n"


def test_options_about_the_same_gpus_do_not_add_up(cluster):
    def seen(*options):
        out = cluster.run("srun", *options, "sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE")
        return sorted(lines(out))

    one_each = ["node1 0 2", "node1 1 2", "node2 0 2", "node2 1 2"]
    assert seen("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--gpus-per-task=1") == one_each
    assert seen("-N2", "--gres=gpu:2", "-n4", "--gpus-per-task=1") == one_each
    assert seen("-n4", "--gpus=4", "--gpus-per-node=2", "--gpus-per-task=1") == one_each
    assert seen("--gpus=4", "--gres=gpu:2") == ["node1 0,1 2", "node2 0,1 2"]
    assert seen("-N1", "-n2", "--gpus=2", "--gpus-per-task=1") == one_each[:2]
    refused = cluster.run("srun", "-n2", "--gpus=3", "--gpus-per-task=1", "true", check=False)
    assert refused.code == 1 and "Invalid generic resource (gres) specification" in refused.err


def test_a_range_of_nodes_is_as_wide_as_there_is_room(cluster):
    show = "echo $SLURMD_NODENAME $SLURM_NNODES $SLURM_NTASKS"
    assert sorted(lines(cluster.run("srun", "-N1-2", "sh", "-c", show))) == ["node1 2 2", "node2 2 2"]
    assert lines(cluster.run("srun", "-N1-2", "-n1", "sh", "-c", show)) == ["node1 1 1"]
    job = cluster.sbatch("echo $SLURM_TASKS_PER_NODE; srun hostname | wc -l", "-N1-2", "--exclusive", "-o", cluster.work / "range.out")
    cluster.wait_ended(job)
    assert (cluster.work / "range.out").read_text().split() == ["4(x2)", "2"]


def test_cpu_binding(cluster):
    told = cluster.run("srun", "-N1", "-n2", "--cpu-bind=verbose,map_cpu:1,0", "true")
    assert "task  0  0" in told.err and "mask 0x2 set" in told.err and "mask 0x1 set" in told.err
    told = cluster.run("srun", "-N1", "-n2", "--cpu-bind=cores", "sh", "-c", "echo $SLURM_CPU_BIND")
    assert lines(told) == ["quiet,mask_cpu:0x1,0x2"] * 2
    outside = cluster.run("srun", "-n1", "--cpu-bind=map_cpu:77", "true", check=False)
    assert outside.code != 0 and "CPU binding outside of job step allocation" in outside.err
    for word, code in (("ldoms", 1), ("bogus", 255)):  # what Slurm has and we have not, and what cannot be read
        refused = cluster.run("srun", f"--cpu-bind={word}", "true", check=False)
        assert refused.code == code and word in refused.err


def test_variables_of_the_request(cluster):
    show = "echo $SLURM_SUBMIT_DIR $PWD $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE $SLURM_GPUS_PER_NODE $SLURM_TRES_PER_TASK"
    job = cluster.sbatch(f"{show}\nsrun sh -c '{show}'", "-D", "/tmp", "-m", "plane=1", "--gpus-per-node=2", "-n2", "-c1",
                         "-o", cluster.work / "request.out")
    cluster.wait_ended(job)
    rows = (cluster.work / "request.out").read_text().splitlines()
    assert rows == [f"{cluster.work} /tmp plane 1 2 cpu=1"] * 3, rows


def supervisors(cluster):
    """Processes of muster-stepd: supervisors, and the spawners of the nodes."""
    found = []
    for folder in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{folder}/cmdline").read()
        except OSError:
            continue
        if "muster-stepd" in words and str(cluster.dir) in words:
            found.append(int(folder))
    return found


def test_input_is_not_heaped_up_and_an_ended_task_holds_nobody_up(cluster):
    reader = '[ $SLURM_PROCID = 0 ] && { head -c 1000 >/dev/null; exit 0; }; wc -c'
    for _ in range(3):
        out = cluster.run("sh", "-c", f"head -c 30000000 /dev/zero | srun -N2 -n2 sh -c '{reader}'")
        assert out.out == "30000000\n"
    step = cluster.popen("sh", "-c", "head -c 300000000 /dev/zero | srun -n1 sleep 4; echo $?")
    time.sleep(3)
    sizes = []
    for pid in supervisors(cluster):
        try:
            status = open(f"/proc/{pid}/status").read()
        except OSError:
            continue
        sizes += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
    assert sizes and max(sizes) < 60_000, sizes
    assert step.communicate(timeout=30)[0] == "0\n"


def test_input_for_steps_that_end_at_once(cluster):
    for _ in range(10):
        result = cluster.run("sh", "-c", "echo foo | srun -N2 hostname")
        assert result.err == "" and len(result.out.split()) == 2


def test_limits_of_a_script_reach_its_steps(cluster):
    job = cluster.sbatch("ulimit -S -n 777; srun sh -c 'ulimit -n; env | grep RLIMIT || echo none'; srun --propagate=CORE sh -c 'ulimit -n'",
                         "-o", "limits.out")
    cluster.wait_ended(job)
    first, leaked, other = (cluster.work / "limits.out").read_text().split()
    assert first == "777" and leaked == "none" and other != "777"


@pytest.mark.root_only
def test_nobody_gets_more_than_the_hard_limits_of_the_node(own_cluster):
    """What a user asks for is cut down to the hard limit. Limits that were set with root's rights would come out as asked for, or
    where the machine keeps root from that, not at all."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("core files are limited here")
    wanted, hard, soft = 8 << 20, 4 << 20, 2 << 20
    cluster = own_cluster(nodes=1)
    cluster.down()
    cluster.run("prlimit", f"--core={soft}:{hard}", "muster", "up", *cluster.args, "--detach")
    # In this order: setpriv finds a program also in a folder that is closed to nobody, what it starts would not.
    as_nobody = ["prlimit", f"--core={wanted}:{wanted}", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    tell = ["/usr/bin/python3", "-c", "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))"]
    ask = lambda *words, **variables: tuple(map(int, cluster.run(*words, cwd="/", env=variables).out.split()))
    assert ask(*as_nobody, *tell) == (wanted, wanted)
    assert ask(*as_nobody, "srun", *tell) == (hard, hard)
    assert ask(*as_nobody, "srun", "--propagate=CORE", *tell) == (hard, hard)
    assert ask(*as_nobody, "srun", "--propagate=NONE", *tell) == (soft, hard)
    forged = ask(*as_nobody, "srun", "--propagate=NONE", *tell, SLURM_RLIMIT_CORE=str(wanted))
    assert forged[0] <= hard and forged[1] == hard
    out = cluster.work / "limits.out"
    script = "#!/bin/sh\n" + shlex.join(tell)
    job = cluster.run(*as_nobody, "sbatch", "--parsable", "--propagate", "-o", out, stdin=script, cwd="/").out.strip()
    cluster.wait_ended(job)
    assert out.read_text() == f"{hard} {hard}\n"


def test_variables_of_the_way_to_the_controller(cluster):
    job = cluster.sbatch("srun --export=ALL,A=1 env; unset SLURM_CONF; srun hostname", "-o", "ways.out", "--export=ALL")
    ended = cluster.wait_ended(job)
    told = (cluster.work / "ways.out").read_text()
    assert ended["State"] == "COMPLETED", told
    assert f"MUSTER_CONF={cluster.dir}/slurm.conf" in told and "SLURM_EXPORT_ENV" not in told
    lost = cluster.run("srun", "--jobid", job, "true", check=False, env={"SLURM_CONF": "/nowhere/slurm.conf"})
    assert lost.code == 1 and "Unable to contact slurm controller" in lost.err and "busy" not in lost.err


def test_input_variables_of_srun(cluster):
    assert len(cluster.run("srun", "hostname", env={"SLURM_NPROCS": "3"}).out.splitlines()) == 3
    cluster.run("srun", "hostname", env={"SRUN_OUTPUT": "by-variable.out"})
    assert (cluster.work / "by-variable.out").read_text().startswith("node")
    refused = cluster.run("srun", "hostname", check=False, env={"SLURM_POWER": "x"})
    assert refused.code == 1 and "SLURM_POWER is not supported by Muster yet" in refused.err
    het = cluster.run("salloc", "-N1", ":", "-N2", "true", check=False)
    assert het.code == 1 and "heterogeneous job" in het.err
    tasks = cluster.run("srun", "--gres=gpu:2", "--ntasks-per-gpu=2", "hostname").out.splitlines()
    assert len(tasks) == 4


def test_one_interrupt_with_X_only_forwards(cluster):
    step = cluster.popen("srun", "-X", "sh", "-c", "trap 'echo caught' INT; echo up; sleep 1; sleep 1; echo on")
    assert step.stdout.readline() == "up\n"
    step.send_signal(signal.SIGINT)
    out, _ = step.communicate(timeout=30)
    assert out == "caught\non\n" and step.returncode == 0


def test_a_fifo_that_nobody_reads_ends_srun_with_the_reason(cluster):
    fifo = cluster.work / "nobody-reads"
    os.mkfifo(fifo)
    refused = cluster.run("srun", "-o", fifo, "true", check=False, timeout=30)
    assert refused.code != 0 and "nobody reads" in refused.err, refused


def test_an_output_that_nobody_reads_keeps_no_cancelled_job(cluster):
    """Its nodes are for others when its processes are gone, whoever still holds the pipe."""
    before = len(supervisors(cluster))
    srun = cluster.popen("srun", "-J", "unread", "-n1", "sh", "-c", "yes; true")
    try:
        until(lambda: cluster.run("squeue", "-h", "-n", "unread", "-t", "R", "-o", "%i").out.strip(), "its start")
        job = cluster.run("squeue", "-h", "-n", "unread", "-o", "%i").out.strip()
        time.sleep(1)  # the pipe fills
        cluster.run("scancel", job)
        until(lambda: cluster.run("squeue", "-h", "-j", job, "-t", "R,CG").out.strip() == "", "its end", timeout=30)
        assert cluster.wait_ended(job)["State"].startswith("CANCELLED")
        until(lambda: len(supervisors(cluster)) <= before, "its supervisor's end", timeout=30)
    finally:
        srun.stdout.close()
        srun.wait(timeout=30)


def test_a_killed_srun_leaves_nothing_in_the_folder_for_temporary_files(cluster):
    folder = cluster.work / "temporary"
    folder.mkdir()
    job = cluster.sbatch(f"export TMPDIR={folder}\nsrun sh -c 'touch step-is-up; sleep 300'")
    until((cluster.work / "step-is-up").exists, "the step")
    assert list(folder.iterdir()) == []
    cluster.run("scancel", job)
    cluster.wait_ended(job)
    assert list(folder.iterdir()) == []


def test_quiet_is_quiet_and_a_script_without_an_end_is_refused(cluster):
    submitted = cluster.run("sbatch", "--parsable", "--quiet", "--wrap", "true")
    assert submitted.out == "" and submitted.err == "", submitted
    endless = cluster.run("sbatch", "/dev/zero", check=False, timeout=120)
    assert endless.code == 1 and "it has more than 256 MiB" in endless.err, endless
    cluster.run("sbatch", "--wrap", "true", env={"SBATCH_REQUEUE": "1"})


def test_too_few_descriptors_are_told_of_before_anything_runs(own_cluster):
    cluster = own_cluster(nodes=2, conf={"KillWait": "2"})
    filler = cluster.sbatch("sleep 600", "-N2", "--exclusive", "-o", "/dev/null")
    cluster.wait_state(filler, "RUNNING")
    srun = cluster.popen("srun", "-N2", "echo", "ran")
    until(lambda: cluster.run("squeue", "-h", "-t", "PD", "-o", "%r").out == "Resources\n", "a place in the queue")
    open_now = len(os.listdir(f"/proc/{srun.pid}/fd"))
    most = resource.prlimit(srun.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(srun.pid, resource.RLIMIT_NOFILE, (open_now + 4, most))
    cluster.run("scancel", filler)
    out, err = srun.communicate(timeout=30)
    assert (srun.returncode, out) == (1, "")
    assert f"{open_now + 4} open files are allowed at most" in err and "ulimit -n" in err
