"""parsl: a block of two nodes by SlurmProvider, its workers started by srun."""
import pytest

import workloads

pytest.importorskip("parsl", reason="parsl is not installed")


def test_a_block_of_two_nodes_works(cluster, folder, until):
    import parsl
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import SrunLauncher
    from parsl.providers import SlurmProvider
    provider = SlurmProvider(partition="main", nodes_per_block=2, init_blocks=1, max_blocks=1, walltime="00:10:00",
                             launcher=SrunLauncher())
    executor = HighThroughputExecutor(label="nodes", address="127.0.0.1", max_workers_per_node=1, provider=provider)
    met = folder / "met"
    met.mkdir()
    with parsl.load(parsl.Config(executors=[executor], run_dir=str(folder / "runinfo"), usage_tracking=0)):
        meet = parsl.python_app(workloads.meet)
        square = parsl.python_app(workloads.square)
        pair = [meet(str(met), name, 2) for name in ("first", "second")]
        assert len({one.result(timeout=150) for one in pair}) == 2, "the two that met ran on different nodes"
        assert [one.result(timeout=60) for one in [square(number) for number in range(10)]] == [n * n for n in range(10)]
        with pytest.raises(ValueError, match="no such luck"):
            parsl.python_app(workloads.fail)("no such luck").result(timeout=60)
    until(lambda: not cluster.run("squeue", "-h").out, "the block's job is cancelled")
