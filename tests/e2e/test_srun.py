"""srun and salloc: layout, streams, exits, several steps at once."""
import os
import signal
import time

from conftest import ends_told


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
    assert result.code == 7 or result.code == 143, result
    assert "task 0: Exited with exit code 7" in result.err and "Terminating" in result.err
    assert time.monotonic() - begin < 30


def test_an_end_is_told_although_something_left_behind_holds_the_output(cluster):
    result = cluster.run("srun", "-K1", "-n2", "sh", "-c", '[ "$SLURM_PROCID" = 0 ] && { sleep 60 & exit 7; }; exec sleep 60', check=False)
    assert "task 0: Exited with exit code 7" in result.err and "Terminating" in result.err


def test_gpus_of_a_step_are_those_asked_for(cluster):
    job = cluster.sbatch("srun -n2 -N2 --gpus=2 -l sh -c 'echo $CUDA_VISIBLE_DEVICES'\nsrun -n1 -N1 --gpus=5 true",
                         "-N2", "-n2", "--gpus-per-node=2", "-o", "gpus.out")
    cluster.wait_ended(job)
    out = (cluster.work / "gpus.out").read_text()
    assert "0: 0\n" in out and "1: 0\n" in out and "does not have the nodes or generic resources" in out, out
