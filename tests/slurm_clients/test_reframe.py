"""reframe: the same check by its schedulers `slurm` (sacct) and `squeue`, launched by srun."""
import json

import pytest

pytest.importorskip("reframe", reason="reframe is not installed")

SITE = """
def partition(scheduler):
    return {"name": scheduler, "scheduler": scheduler, "launcher": "srun", "access": ["--partition=main"], "environs": ["site"],
            "max_jobs": 4}

site_configuration = {
    "systems": [{"name": "muster", "hostnames": [".*"], "partitions": [partition("slurm"), partition("squeue")]}],
    "environments": [{"name": "site", "cc": "cc"}],
    "storage": [{"enable": False}],
}
"""

CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class RanksCheck(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "sh"
    executable_opts = ["-c", "'echo rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME'"]
    num_tasks = 4
    num_tasks_per_node = 2
    time_limit = "10m"

    @sanity_function
    def all_ranks(self):
        ranks = sn.extractall(r"rank (\\d) of 4 on (\\S+)", self.stdout, (1, 2))
        return sn.assert_eq(sn.sorted(ranks), [("0", "node1"), ("1", "node1"), ("2", "node2"), ("3", "node2")])
"""


def test_a_check_passes_by_either_scheduler(folder, run):
    (folder / "site.py").write_text(SITE)
    (folder / "check.py").write_text(CHECK)
    run("reframe", "-C", "site.py", "-c", "check.py", "--prefix", folder, "--report-file", folder / "report.json",
        "-r", told="rfm_job.*", env={"RFM_ENABLE_RESULTS_STORAGE": "0", "HOME": str(folder), "TMPDIR": str(folder)})
    report = json.loads((folder / "report.json").read_text())
    cases = [case for session in report["runs"] for case in session["testcases"]]
    assert sorted((case["partition"], case["scheduler"], case["result"]) for case in cases) == \
        [("slurm", "slurm", "pass"), ("squeue", "squeue", "pass")]
