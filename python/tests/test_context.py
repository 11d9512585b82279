"""The environment contract, and how a run begins on several ranks."""
import pytest

from muster import core
from muster.core.environment import Environment, MaxLength, read_environment


def test_the_contract_typed(tmp_path):
    found = read_environment({
        "MUSTER_HPARAMS": '{"lr": 0.1, "net": {"width": 64}}', "MUSTER_HP_LR": "0.1", "MUSTER_RESUME_FROM": "/a/b",
        "MUSTER_STOP_FILE": str(tmp_path / "s"), "MUSTER_DEADLINE": "1700000000.5", "MUSTER_RUN_DIR": str(tmp_path),
        "MUSTER_SEED": "17", "MUSTER_RUN_ID": "3", "SLURM_RESTART_COUNT": "1", "SLURM_JOB_ID": "42",
        "MUSTER_MAX_LENGTH": '{"epochs": 64}', "MUSTER_SEARCHER_METRIC": "loss"})
    assert found == Environment(
        hparams={"lr": 0.1, "net": {"width": 64}}, resume_from="/a/b", stop_file=tmp_path / "s", deadline=1700000000.5,
        run_dir=tmp_path, run_id=3, seed=17, restart_count=1, job_id=42, max_length=MaxLength(64, "epochs"),
        searcher_metric="loss")


def test_nothing_set_and_set_to_nothing():
    assert read_environment({}) == read_environment({"MUSTER_SEED": "", "MUSTER_HPARAMS": ""}) == Environment()


def test_hparams_one_by_one():
    found = read_environment({"MUSTER_HP_LR": "0.1", "MUSTER_HP_NAME": "adam", "MUSTER_HP_NESTEROV": "true"})
    assert found.hparams == {"lr": 0.1, "name": "adam", "nesterov": True}


@pytest.mark.parametrize("name, text", [
    ("MUSTER_HPARAMS", "{"), ("MUSTER_HPARAMS", "[1]"), ("MUSTER_DEADLINE", "soon"), ("MUSTER_DEADLINE", "nan"),
    ("MUSTER_SEED", "-1"), ("MUSTER_RUN_ID", "0"), ("MUSTER_RUN_ID", "x"), ("SLURM_RESTART_COUNT", "x"),
    ("SLURM_JOB_ID", "x"), ("MUSTER_MAX_LENGTH", "0"),
    ("MUSTER_MAX_LENGTH", '{"a": 1, "b": 2}'), ("MUSTER_MAX_LENGTH", "true"), ("MUSTER_STOP_SIGNAL", "SIGKILL"),
    ("MUSTER_DEADLINE_MARGIN", "-1")])
def test_a_wrong_variable_is_named(name, text):
    with pytest.raises(ValueError, match=name):
        read_environment({name: text})


def test_info(tmp_path, monkeypatch):
    for name, text in {"MUSTER_HPARAMS": '{"lr": 1}', "MUSTER_SEED": "5", "SLURM_JOB_ID": "9",
                       "MUSTER_RUN_DIR": str(tmp_path), "SLURM_RESTART_COUNT": "2", "MUSTER_DEADLINE": "1e12"}.items():
        monkeypatch.setenv(name, text)
    with core.init() as context:
        assert context.info == core.Run(hparams={"lr": 1}, seed=5, run_dir=tmp_path, run_id=3, latest_checkpoint=None,
                                        deadline=1e12, job_id=9)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MUSTER_RUN_DIR")
    with core.init() as context:
        assert context.info.run_dir == tmp_path / "muster-runs" / "job-9"


def test_several_ranks_need_a_distributed_context(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    text = r"rank 1 of 4 \(RANK and WORLD_SIZE\).*from_torch_distributed\(\).*from_environment\(\)"
    with pytest.raises(ValueError, match=text):
        core.init(run_dir=tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    core.init(run_dir=tmp_path).close()


def test_wrong_arguments(tmp_path):
    with pytest.raises(TypeError, match="'ChiefOnly'; it is a PreemptMode"):
        core.init(run_dir=tmp_path, preempt_mode="ChiefOnly")
    core.init(run_dir=tmp_path).close()


INFO = """
from muster import core
with core.init(distributed=core.DistributedContext.from_environment()) as context:
    info = context.info
    print(info.run_dir.name, info.run_id, info.latest_checkpoint, context.train.get_tensorboard_path().is_dir())
    if context.distributed.rank == 0:
        with context.checkpoint.store_path({"steps_completed": 1}):
            pass
"""


def test_ranks_share_one_run(ranks, tmp_path):
    first = [script.end()[0] for script in ranks(INFO, 3, MUSTER_RUN_DIR=tmp_path / "run")]
    assert first == ["run 1 None True\n"] * 3
    second = {script.end()[0] for script in ranks(INFO, 3, MUSTER_RUN_DIR=tmp_path / "run")}
    assert len(second) == 1 and second.pop().split()[:2] == ["run", "2"]


def test_what_rank_0_cannot_open_is_an_error_of_all(ranks, tmp_path):
    with core.init(run_dir=tmp_path):
        for script in ranks(INFO, 2, MUSTER_RUN_DIR=tmp_path):
            assert "RunFolderInUseError" in script.end(1)[1]


def test_a_wrong_variable_on_one_rank_is_an_error_of_all(scripts, tmp_path):
    from conftest import rank_variables
    begun = [scripts(INFO, MUSTER_RUN_DIR=tmp_path, MUSTER_SEED="x" if rank == 1 else 1, **each)
             for rank, each in enumerate(rank_variables(2))]
    for script in begun:
        assert "MUSTER_SEED is 'x'" in script.end(1)[1]
