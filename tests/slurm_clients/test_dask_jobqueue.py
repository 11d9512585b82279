"""dask-jobqueue: workers as jobs, work on both, and no job left when they are scaled away."""
import sys

import pytest

import workloads

pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")


def test_two_workers_compute_and_go(cluster, folder, until):
    from dask.distributed import Client
    from dask_jobqueue import SLURMCluster
    with SLURMCluster(queue="main", cores=1, processes=1, memory="400MB", walltime="00:10:00", python=sys.executable,
                      interface="lo", local_directory=str(folder / "scratch"), log_directory=str(folder / "logs"),
                      scheduler_options={"dashboard_address": None}) as workers, Client(workers) as client:
        workers.scale(2)
        client.wait_for_workers(2, timeout=120)
        jobs = {task["SLURM_JOB_ID"] for task in client.run(workloads.rank).values()}
        assert len(jobs) == 2, "each worker is a job of its own"
        squares = client.map(workloads.square, range(20))
        assert client.submit(sum, squares).result(timeout=120) == sum(number * number for number in range(20))
        workers.scale(0)
        until(lambda: not cluster.run("squeue", "-h").out, "the workers' jobs end")
    assert {cluster.job(job)["State"].split()[0] for job in jobs} <= {"COMPLETED", "CANCELLED"}
