"""The launchers: who starts what with which variables, how ranks' ends and output are told, what is refused."""
import os
import signal
import stat
import sys

import pytest

from conftest import wait_until
from muster.launch import mpi, torch_distributed
from muster.launch.topology import (Wishes, hosts_of, is_batch_script_of_many_nodes, rank_variables, read_topology,
                                    visible_gpus)

LAUNCH = "-m muster.launch.torch_distributed "
SRUN = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_NNODES": "2", "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
        "SLURM_LOCALID": "0"}


def test_alone():
    found = read_topology(Wishes(nproc_per_node=3), {}, gpu_count=8)
    assert (found.size, found.ranks_here, found.nodes, found.master_addr, found.port) == (3, 3, 1, "127.0.0.1", None)
    assert read_topology(Wishes(), {}, gpu_count=8).size == 8 and read_topology(Wishes(), {}, gpu_count=0).size == 1
    said = rank_variables(found, 2, 1234, "0")
    assert (said["RANK"], said["LOCAL_RANK"], said["WORLD_SIZE"], said["LOCAL_WORLD_SIZE"], said["MASTER_PORT"]) == \
        ("2", "2", "3", "3", "1234")


def test_one_launcher_per_node_under_srun():
    found = [read_topology(Wishes(nproc_per_node=2), {**SRUN, "SLURM_PROCID": node, "SLURM_NODEID": node}, 0)
             for node in "01"]
    assert [(each.node_rank, each.first_rank, each.ranks_here, each.size) for each in found] == [(0, 0, 2, 4), (1, 2, 2, 4)]
    assert found[0].port == found[1].port is not None and {each.master_addr for each in found} == {"n1"}
    assert rank_variables(found[1], 1, 9, "2") == {
        "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "1",
        "GROUP_WORLD_SIZE": "2", "ROLE_NAME": "default", "ROLE_RANK": "3", "ROLE_WORLD_SIZE": "4", "MASTER_ADDR": "n1",
        "MASTER_PORT": "9", "TORCHELASTIC_RUN_ID": found[1].run_id, "TORCHELASTIC_RESTART_COUNT": "2", "TORCHELASTIC_MAX_RESTARTS": "0"}


def test_one_launcher_per_rank_under_srun_and_mpirun():
    step = {**SRUN, "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
            "SLURM_PROCID": "3", "SLURM_NODEID": "1", "SLURM_LOCALID": "1"}
    found = read_topology(Wishes(), step, 8)
    assert (found.first_rank, found.first_local_rank, found.ranks_here, found.local_size, found.size) == (3, 1, 1, 2, 4)
    assert rank_variables(found, 0, 9, "0")["RANK"] == "3"
    with pytest.raises(ValueError, match="--nproc-per-node 2, but .* 2 tasks on this node"):
        read_topology(Wishes(nproc_per_node=2), step, 8)
    ompi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    found = read_topology(Wishes(), ompi, 8)
    assert (found.first_rank, found.ranks_here, found.size, found.master_addr) == (1, 1, 2, "127.0.0.1")
    with pytest.raises(ValueError, match="--nnodes is given, but OMPI"):
        read_topology(Wishes(nnodes=2), ompi, 0)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="another launcher"):
        read_topology(Wishes(), {"RANK": "0", "WORLD_SIZE": "2"}, 0)
    with pytest.raises(ValueError, match="--nnodes 2 needs --node-rank, --master-addr and --master-port"):
        read_topology(Wishes(nnodes=2), {}, 0)
    with pytest.raises(ValueError, match="--node-rank 2 does not lie in 0..1"):
        read_topology(Wishes(nnodes=2, node_rank=2), {}, 0)


def test_lists_of_hosts_and_gpus():
    assert hosts_of("n[03-05,9]-ib,m1") == ["n03-ib", "n04-ib", "n05-ib", "n9-ib", "m1"]
    assert hosts_of("a[1-2]b[3-4]") == ["a1b3", "a1b4", "a2b3", "a2b4"] and hosts_of("") == []
    for wrong in ("n[1-2", "n[x]"):
        with pytest.raises(ValueError):
            hosts_of(wrong)
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "0,GPU-5"}, ["nvidia0"]) == 2
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": ""}, ["nvidia0"]) == 0
    assert visible_gpus({"SLURM_GPUS_ON_NODE": "4"}, []) == 4
    assert visible_gpus({}, ["nvidia0", "nvidia11", "nvidiactl", "nvidia-uvm"]) == 2


SHOW = """
import os, sys
os.write(1, " ".join(["rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], *sys.argv[1:]]).encode() + b"\\n")
os.write(2, b"complains\\n")
if "fail" in sys.argv:
    import time
    from pathlib import Path
    Path(f"{__file__}.said.{os.environ['RANK']}").touch()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        everybody = all(Path(f"{__file__}.said.{rank}").exists() for rank in range(int(os.environ["WORLD_SIZE"])))
        if everybody and os.environ["RANK"] == "1":
            sys.exit(7)
        time.sleep(0.02)
"""


@pytest.fixture
def show(tmp_path):
    path = tmp_path / "show.py"
    path.write_text(SHOW)
    return path


def test_output_is_prefixed_and_arguments_arrive(scripts, show):
    out, err = scripts(f"{LAUNCH}--nproc-per-node 2 --prefix {show} --lr 1").end()
    assert sorted(out.splitlines()) == ["[rank=0] rank 0 of 2 --lr 1", "[rank=1] rank 1 of 2 --lr 1"]
    assert sorted(err.splitlines()) == ["[rank=0] complains", "[rank=1] complains"]
    assert scripts(f"{LAUNCH}{show}").end()[0] == "rank 0 of 1\n"


def test_the_scripts_exit_code_comes_through_and_the_others_end(scripts, show):
    out, _ = scripts(f"{LAUNCH}--nproc-per-node 3 {show} fail").end(7)
    assert len(out.splitlines()) == 3


def test_a_rank_that_a_signal_ended_is_128_and_more(scripts, tmp_path):
    path = tmp_path / "die.py"
    path.write_text("import os; os.kill(os.getpid(), 9)\n")
    scripts(f"{LAUNCH}{path}").end(137)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_signals_go_to_every_rank_which_take_their_time(scripts, tmp_path, number):
    path = tmp_path / "wait.py"
    path.write_text("import os, signal, sys, time\n"
                    f"signal.signal({int(number)}, lambda *_: (time.sleep(0.2), os.write(1, b'done\\n'), sys.exit(0)))\n"
                    "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.01)\n")
    script = scripts(f"{LAUNCH}--nproc-per-node 2 {path}")
    assert [script.line(), script.line()] == ["ready", "ready"]
    os.kill(script.pid, number)
    assert script.end()[0] == "done\ndone\n"


def test_no_rank_outlives_a_launcher_that_is_killed(scripts, tmp_path):
    path = tmp_path / "wait.py"
    path.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(100)\n")
    script = scripts(f"{LAUNCH}{path}")
    pid = int(script.line())
    script.kill()

    def is_gone():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().split(")")[1].split()[0] == "Z"
        except FileNotFoundError:
            return True
    wait_until(is_gone, "the rank's end")


def test_the_ranks_find_each_other(scripts, tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "meet.py"
    path.write_text("import os, torch\nfrom muster import pytorch\nwith pytorch.init() as context:\n"
                    "    x = torch.tensor([context.distributed.rank + 1.0])\n    torch.distributed.all_reduce(x)\n"
                    "    os.write(1, f'{context.distributed.size} {x.item()}\\n'.encode())\n")
    out, _ = scripts(f"{LAUNCH}--nproc-per-node 2 {path}", MUSTER_RUN_DIR=tmp_path / "run").end()
    assert out == "2 3.0\n2 3.0\n"


def fake(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_batch_script_of_many_nodes_goes_by_srun(scripts, tmp_path, show):
    assert is_batch_script_of_many_nodes({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"})
    assert not is_batch_script_of_many_nodes({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"})
    assert not is_batch_script_of_many_nodes({**SRUN, "SLURM_PROCID": "0", "SLURM_NODEID": "0"})
    fake(tmp_path, "srun", 'echo "$@"')
    job = {"SLURM_JOB_ID": 7, "SLURM_JOB_NUM_NODES": 2}
    out, _ = scripts(f"{LAUNCH}--nproc-per-node 2 {show} --lr 1", PATH=f"{tmp_path}:{os.environ['PATH']}", **job).end()
    assert out == (f"--nodes=2 --ntasks=2 --ntasks-per-node=1 {sys.executable} -m muster.launch.torch_distributed "
                   f"--nproc-per-node 2 {show} --lr 1\n")
    _, err = scripts(f"{LAUNCH}{show}", PATH="/nowhere", **job).end(2)
    assert "this job has 2 nodes, and there is no srun in PATH" in err


def test_torchrun_itself():
    found = torch_distributed.parser()
    options = found.parse_args(["--nproc-per-node", "2", "train.py", "--prefix"])
    options.torchrun = True
    topology = read_topology(Wishes(2), {}, 0)
    command = torch_distributed.torchrun_command(options, topology)
    assert command[:4] == [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]
    assert command[-2:] == ["train.py", "--prefix"] and "--nnodes=1" in command
    options.prefix = True
    with pytest.raises(ValueError, match="--prefix is not torchrun's"):
        torch_distributed.torchrun_command(options, topology)


def test_what_is_absent_is_named(scripts, show):
    for module, text in (("deepspeed", "DeepSpeed is not installed"), ("mpi", "there is no mpirun in PATH")):
        _, err = scripts(f"-m muster.launch.{module} {show}", PATH="/nowhere").end(2)
        assert text in err
    _, err = scripts(f"{LAUNCH}--max-restarts 3 {show}").end(2)
    assert "--max-restarts" in err or "unrecognized" in err or "which script" in err
    assert "which script" in scripts(f"{LAUNCH}--prefix").end(2)[1]
    assert "--nproc-per-node" in scripts(f"{LAUNCH}--nproc-per-node some {show}").end(2)[1]


def test_deepspeed_adds_local_rank(scripts, tmp_path, show):
    (tmp_path / "deepspeed.py").write_text("")  # a package of the name
    package = os.path.dirname(os.path.dirname(os.path.abspath(torch_distributed.__file__)))
    path = f"{tmp_path}:{os.path.dirname(package)}"
    out, _ = scripts(f"-m muster.launch.deepspeed --nproc-per-node 2 {show} --x", PYTHONPATH=path).end()
    assert sorted(out.splitlines()) == ["rank 0 of 2 --x --local_rank=0", "rank 1 of 2 --x --local_rank=1"]
    out, _ = scripts(f"-m muster.launch.deepspeed --no-local-rank {show}", PYTHONPATH=path).end()
    assert out == "rank 0 of 1\n"


def test_mpirun_is_told_of_the_jobs_nodes(scripts, tmp_path, show):
    job = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2,1"}
    assert mpi.slots(None, job, 0) == {"n1": 2, "n2": 1} and mpi.slots(4, job, 0) == {"n1": 4, "n2": 4}
    assert mpi.slots(None, {}, 0) == {"localhost": 1}
    fake(tmp_path, "mpirun", '[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" || echo "$@"')
    path = f"{tmp_path}:{os.environ['PATH']}"
    out, _ = scripts(f"-m muster.launch.mpi --prefix {show} --x", PATH=path, **job).end()
    assert out == f"-np 3 --host n1:2,n2:1 {sys.executable} -m muster.launch.torch_distributed --prefix {show} --x\n"
    _, err = scripts(f"-m muster.launch.mpi --np 9 {show}", PATH=path, **job).end(2)
    assert "--np 9, but n1 has room for 2, n2 has room for 1" in err
    fake(tmp_path, "mpirun", 'echo "HYDRA build details"')
    assert "is not Open MPI's (HYDRA build details)" in scripts(f"-m muster.launch.mpi {show}", PATH=path).end(2)[1]
