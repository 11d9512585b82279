"""snakemake with its slurm plug-ins: rules as jobs, which the jobstep plug-in starts by srun.

Without slurm_account: to judge one, the plug-in asks sacctmgr or sshare, which are not there.
"""
import pytest

pytest.importorskip("snakemake_executor_plugin_slurm", reason="snakemake's slurm plug-in is not installed")
pytest.importorskip("snakemake_executor_plugin_slurm_jobstep", reason="snakemake's jobstep plug-in is not installed")

RULES = """
rule all:
    input: "sum"

rule number:
    output: "number-{n}"
    threads: 2
    shell: "echo {wildcards.n} $SLURM_JOB_ID $SLURM_STEP_ID {threads} > {output}"

rule sum:
    input: "number-3", "number-4"
    output: "sum"
    shell: "awk '{{ sum += $1 }} END {{ print sum }}' {input} > {output}"
"""


def test_rules_run_as_jobs_in_their_order(folder, run, cluster):
    (folder / "Snakefile").write_text(RULES)
    run("snakemake", "--executor", "slurm", "--jobs", "2", "--latency-wait", "30",
        "--default-resources", "slurm_partition=main", "runtime=10", "mem_mb=100", "--slurm-init-seconds-before-status-checks", "1",
        "--seconds-between-status-checks", "1", "--slurm-keep-successful-logs",
        env={"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")})
    assert (folder / "sum").read_text() == "7\n"
    rows = [(folder / f"number-{n}").read_text().split() for n in (3, 4)]
    assert [(row[0], row[3]) for row in rows] == [("3", "2"), ("4", "2")]
    assert len({row[1] for row in rows}) == 2, "each rule ran in a job of its own"
    assert all(row[2].isdigit() and int(row[2]) < 1000 for row in rows), "as a step that srun started"
    ends = {cluster.job(row[1], "JobID", "State", "AllocCPUS")["State"] for row in rows}
    assert ends == {"COMPLETED"}
