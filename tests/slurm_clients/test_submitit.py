"""submitit and Hydra's launcher on it: their jobs' results, failures, arrays, ranks, and checkpoints after which a job requeues itself."""
import os
import sys
from pathlib import Path

import pytest

import workloads

submitit = pytest.importorskip("submitit", reason="submitit is not installed")
APP = Path(__file__).with_name("hydra_app.py")


@pytest.fixture
def executor(folder):
    """executor(options…): one that submits from the test's folder, which jobs' outputs go below."""
    def make(**options):
        # `%j` in its name: the folder of a job is made by whoever is first, submitit or the job's output file.
        made = submitit.AutoExecutor(folder=folder / "%j", cluster="slurm")
        made.update_parameters(**{"timeout_min": 10, "slurm_partition": "main", "cpus_per_task": 1, **options})
        return made
    return make


def test_a_function_gives_its_result(executor, until):
    job = executor().submit(workloads.add, 2, 3)
    assert job.result() == 5
    until(lambda: job.get_info(mode="force").get("State") == "COMPLETED", "the job ends, a moment after its result")


def test_a_function_that_raises_gives_its_traceback(executor):
    job = executor().submit(workloads.fail, "no such luck")
    assert isinstance(job.exception(), submitit.core.utils.FailedJobError)
    assert "ValueError: no such luck" in str(job.exception())


def test_an_array_gives_a_result_for_each(executor):
    jobs = executor(slurm_array_parallelism=2).map_array(workloads.add, [1, 2, 3], [10, 20, 30])
    assert [job.result() for job in jobs] == [11, 22, 33]
    assert len({job.job_id.split("_")[0] for job in jobs}) == 1, "one array"


def test_four_tasks_on_two_nodes_have_their_ranks(executor):
    tasks = executor(nodes=2, tasks_per_node=2).submit(workloads.rank).results()
    assert [task["SLURM_PROCID"] for task in tasks] == ["0", "1", "2", "3"]
    assert [task["SLURM_LOCALID"] for task in tasks] == ["0", "1", "0", "1"]
    assert [task["SLURM_NODEID"] for task in tasks] == ["0", "0", "1", "1"]
    assert len({task["SLURMD_NODENAME"] for task in tasks}) == 2


def test_a_cancelled_job_says_so(executor, folder, until):
    job = executor().submit(workloads.sleep_for_ever, folder / "began")
    until((folder / "began").exists, "the job begins")
    job.cancel()
    until(lambda: job.done(force_check=True), "the job is cancelled")
    assert job.state.startswith("CANCELLED")


def counted_in_two_runs(job, file, hold, target):
    """The job's result is right, and its second run went on where the first one was when the signal came."""
    assert job.result() == target, job.stderr()
    expected = [f"run 0: {number}" for number in range(1, hold + 1)] + [f"run 1: {number}" for number in range(hold + 1, target + 1)]
    assert file.read_text().splitlines() == expected
    assert f"Requeued job {job.job_id}" in job.stdout(), "its scontrol requeue had its answer before the job was ended"


def test_a_preempted_job_checkpoints_and_requeues_itself(executor, folder, until):
    file = folder / "counted"
    job = executor(timeout_min=60).submit(workloads.Counter(file, hold=3), 6)
    until(lambda: file.exists() and "run 0: 3\n" in file.read_text(), "the job counts")
    job._interrupt(timeout=False)  # SIGTERM and SIGUSR2 by scancel, as preemption sends them
    counted_in_two_runs(job, file, hold=3, target=6)
    assert "this job is preempted" in job.stderr()


def test_a_job_whose_time_ends_checkpoints_and_requeues_itself(executor, folder):
    """By `--signal=USR2@35` at a limit of a minute: 25 s for the first run to be ready on a busy machine."""
    file = folder / "counted"
    job = executor(timeout_min=1, slurm_signal_delay_s=35).submit(workloads.Counter(file, hold=2), 5)
    counted_in_two_runs(job, file, hold=2, target=5)
    assert "this job is timed-out" in job.stderr()


def test_hydras_launcher_runs_a_sweep(folder, run):
    pytest.importorskip("hydra", reason="hydra is not installed")
    ran = run(sys.executable, APP, "--multirun", "hydra/launcher=submitit_slurm", "hydra.launcher.partition=main",
              "hydra.launcher.timeout_min=10", f"hydra.sweep.dir={folder}/sweep", "+x=1,2", told="*.out",
              env={"HYDRA_FULL_ERROR": "1"})
    squares = [(folder / "sweep" / str(number) / "square").read_text() for number in (0, 1)]
    assert squares == ["1", "4"], ran
