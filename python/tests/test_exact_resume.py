"""The Trainer goes on where it was interrupted, bit for bit; and the check that says so can say no.

EXACT_RESUME_COUNT and EXACT_RESUME_SEED make more of it: tools/exact_resume.sh.
"""
import os
import random

import pytest

from muster.certify import contents

pytest.importorskip("torch")
pytest.importorskip("numpy")

import char_model  # noqa: E402
import interruptions  # noqa: E402
from interruptions import BUGS, Interruption  # noqa: E402
from save_points import SAVE_POINTS  # noqa: E402

pytestmark = pytest.mark.skipif(not char_model.TEXT.exists(), reason=f"{char_model.TEXT} is not there")

COUNT = int(os.environ.get("EXACT_RESUME_COUNT", "50"))
SEED = int(os.environ.get("EXACT_RESUME_SEED", str(random.randrange(1 << 30))))
RANKS = 4  # 2 nodes of 2


def planned(count, batches, size, draw):
    """Interruptions at rising batches: at least a fifth within a save, the others kills and stops in equal parts."""
    kinds = ["save"] * max(1, (count + 3) // 4) + ["kill", "stop"] * count
    kinds = kinds[:count]
    draw.shuffle(kinds)
    places = sorted(draw.sample(range(1, batches - 6), count))
    points = [SAVE_POINTS[place % len(SAVE_POINTS)] for place in range(count)]
    return [Interruption(kind, place, draw.randrange(size), points.pop() if kind == "save" else None)
            for kind, place in zip(kinds, places)]


def newest_checkpoint(folder):
    return max((folder / "checkpoints").iterdir(), key=lambda path: (path / "trainer.json").stat().st_mtime_ns)


def everything(folder):
    """The last checkpoint and the metric series. The checkpoint has models, optimizers, schedules, every rank's generators,
    the sampler's position and the callbacks."""
    return {**contents.of_checkpoint(newest_checkpoint(folder)), **contents.of_series(folder)}


@pytest.fixture(scope="module")
def twins(memory_folders):
    """twin(batches, size): what an uninterrupted training arrives at."""
    known = {}

    def twin(batches, size=1, hparams="{}"):
        if (batches, size, hparams) not in known:
            folder = memory_folders() / "run"
            assert interruptions.run(folder, batches, size, hparams=hparams) == "completed"
            known[batches, size, hparams] = everything(folder)
        return known[batches, size, hparams]
    return twin


def assert_same(found, expected):
    apart = contents.differences(expected, found)
    assert not apart, apart[:5]
    assert contents.digest_of(found) == contents.digest_of(expected)


def test_what_is_compared_is_everything(twins):
    places = twins(60)
    for part in ("state.pt: models[0].2.weight", "state.pt: optimizers[0].state.0.exp_avg",
                 "state.pt: schedulers[0].last_epoch", "state.pt: optimizers[0].param_groups[0].lr",
                 "state.pt: callbacks.counter.epochs", "rank-0.pt: random.torch", "rank-0.pt: random.python[1]",
                 "rank-0.pt: random.numpy[1]", "trainer.json: position.epoch_batches",
                 "training at 7: loss", "training at 60: greatest", "validation at 60: correct"):
        assert part in places, sorted(places)
    assert len([place for place in places if place.startswith("training at ")]) == 9 * 4


def test_one_rank(memory_path, twins):
    print(f"EXACT_RESUME_SEED={SEED}")
    draw, folder, batches = random.Random(SEED), memory_path / "run", 5 * COUNT + 40
    said, in_save = [], 0
    for place, interruption in enumerate(planned(COUNT - COUNT // 10, batches, 1, draw)):
        if place % 9 == 4:  # and a kill at any moment at all, where not even the batch is chosen
            said.append(interruptions.run(folder, batches, kill_after_s=0.02 + 0.2 * draw.random()))
        said.append(interruptions.run(folder, batches, interruption=interruption))
        assert said[-1] == ("stopped" if interruption.kind == "stop" else "killed"), (interruption, said)
        in_save += interruption.kind == "save"
    assert interruptions.run(folder, batches) == "completed"
    assert len(said) - said.count("completed") >= COUNT - COUNT // 50 and in_save >= COUNT // 5, (said, in_save)
    assert_same(everything(folder), twins(batches))


def test_four_ranks_on_two_nodes(memory_path, twins):
    print(f"EXACT_RESUME_SEED={SEED}")
    draw, folder, count = random.Random(SEED), memory_path / "run", max(1, COUNT // 5)
    batches = 7 * count + 20
    for interruption in planned(count, batches, RANKS, draw):
        said = interruptions.run(folder, batches, RANKS, interruption)
        assert said == ("stopped" if interruption.kind == "stop" else "killed"), interruption
    assert interruptions.run(folder, batches, RANKS) == "completed"
    found = everything(folder)
    assert {f"rank-{rank}.pt: random.torch" for rank in range(RANKS)} <= set(found)
    assert_same(found, twins(batches, RANKS))


def test_with_loader_workers(memory_path, twins):
    hparams = '{"workers": 2}'
    for interruption in (Interruption("stop", 11), Interruption("kill", 33), Interruption("save", 41, 0, "written")):
        interruptions.run(memory_path / "run", 60, interruption=interruption, hparams=hparams)
    assert interruptions.run(memory_path / "run", 60, hparams=hparams) == "completed"
    found = everything(memory_path / "run")
    assert_same(found, twins(60, hparams=hparams))
    apart = contents.differences(twins(60), found)  # and without workers it is the same but for what it says of itself
    assert {each.place.split("fingerprint.")[-1] for each in apart} == \
        {"hyperparameters", "hyperparameters.workers", "loader workers"}, apart


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(memory_path, twins, bug):
    assert interruptions.run(memory_path / "run", 60, interruption=Interruption("stop", 22)) == "stopped"
    assert interruptions.run(memory_path / "run", 60, bug=bug) == "completed"
    apart = contents.differences(twins(60), everything(memory_path / "run"))
    assert any(each.place.startswith("state.pt: models") for each in apart), apart
    assert any(each.place.startswith("training at ") for each in apart), apart


def test_the_same_interruption_without_a_bug_is_exact(memory_path, twins):
    assert interruptions.run(memory_path / "run", 60, interruption=Interruption("stop", 22)) == "stopped"
    assert interruptions.run(memory_path / "run", 60) == "completed"
    assert_same(everything(memory_path / "run"), twins(60))
