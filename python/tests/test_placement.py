"""Ranks from the environment of launchers."""
import pytest

from muster.core.placement import first_host, read_placement, tasks_per_node

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
            "GROUP_WORLD_SIZE": "2", "MASTER_ADDR": "n1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "7"}
SRUN = {"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0", "SLURM_NODEID": "1",
        "SLURM_STEP_NODELIST": "n[07-08]", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_TASKS_PER_NODE": "3,1",
        "SLURM_JOB_ID": "9", "SLURM_STEP_ID": "0"}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
          "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


def numbers(found):
    return found.rank, found.size, found.local_rank, found.local_size, found.cross_rank, found.cross_size


def test_launchers():
    assert numbers(read_placement(TORCHRUN)) == (5, 8, 1, 4, 1, 2) and read_placement(TORCHRUN).chief_ip == "n1"
    assert numbers(read_placement(SRUN)) == (3, 4, 0, 1, 1, 2) and read_placement(SRUN).chief_ip == "n07"
    assert numbers(read_placement(MPIRUN)) == (1, 4, 1, 2, 0, 2) and read_placement(MPIRUN).chief_ip is None
    assert read_placement({}) is None


def test_the_innermost_launcher_counts():
    assert read_placement({**SRUN, **MPIRUN, **TORCHRUN}).source == "RANK and WORLD_SIZE"
    assert read_placement({**SRUN, **MPIRUN}).source.startswith("OMPI")


def test_a_batch_script_is_one_process_whatever_its_job_has():
    assert read_placement({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "9"}) is None
    assert read_placement({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}).size == 4


def test_ports_are_those_of_the_launch():
    assert read_placement(TORCHRUN).ports() == read_placement({**TORCHRUN, "RANK": "0", "LOCAL_RANK": "0"}).ports()
    assert read_placement(TORCHRUN).ports() != read_placement({**TORCHRUN, "TORCHELASTIC_RUN_ID": "8"}).ports()
    assert all(1024 < port < 32768 for port in read_placement(SRUN).ports())
    one, other = ({**SRUN, "DET_CLUSTER_ID": uuid} for uuid in ("11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"))
    assert read_placement(one).ports() != read_placement(other).ports(), "two clusters of one host, each with its job 1"


@pytest.mark.parametrize("change, text", [({"RANK": "x"}, "RANK is 'x'"), ({"RANK": "8"}, "rank 8 does not lie in 0..7"),
                                          ({"LOCAL_RANK": "4"}, "local rank 4")])
def test_what_is_wrong_is_named(change, text):
    with pytest.raises(ValueError, match=text):
        read_placement({**TORCHRUN, **change})


def test_lists_of_slurm():
    assert tasks_per_node("2(x3),1") == [2, 2, 2, 1] and tasks_per_node("") == []
    with pytest.raises(ValueError, match="2x3"):
        tasks_per_node("2x3")
    for text, host in (("n1", "n1"), ("n[03-05,9],m1", "n03"), ("n1-ib,n2", "n1-ib"), ("r[1-2]n[5,7]-ib", "r1n5-ib"),
                       ("", None)):
        assert first_host(text) == host
