"""Open MPI's and MPICH's mpirun in an allocation: they find its nodes and start their helpers there by srun."""
import re
import shutil
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("mpi_sum.c")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request, folder, run):
    """The commands of one of them, with the program built for it."""
    if not (shutil.which(f"mpicc.{request.param}") and shutil.which(f"mpirun.{request.param}")):
        pytest.skip(f"{request.param} is not installed: tools/mpi_packages.sh")
    run(f"mpicc.{request.param}", "-o", folder / "mpi_sum", SOURCE)
    return f"mpirun.{request.param}"


def is_whole(text):
    """Four ranks on two nodes, which added their numbers."""
    ranks = dict(re.findall(r"^rank (\d) of 4 on (\S+)$", text, re.M))
    return set(ranks) == set("0123") and len(set(ranks.values())) == 2 and "sum 6\n" in text


def test_four_ranks_on_two_nodes_in_a_batch_job(mpi, folder, cluster):
    job = cluster.sbatch(f"{mpi} ./mpi_sum\n", "-N2", "--ntasks-per-node=2", "-o", "job.out", "-t", "5", cwd=folder, env=AS_ROOT)
    assert cluster.wait_ended(job, timeout=150)["State"] == "COMPLETED", (folder / "job.out").read_text()
    assert is_whole((folder / "job.out").read_text()), (folder / "job.out").read_text()


def test_four_ranks_on_two_nodes_under_salloc(mpi, run):
    ran = run("salloc", "-N2", "--ntasks-per-node=2", "-t", "5", mpi, "./mpi_sum", env=AS_ROOT)
    assert is_whole(ran.out), ran
