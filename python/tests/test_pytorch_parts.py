"""The Trainer's parts: units, order of samples, reducers, gradients, schedules, fingerprints, topology of data."""
import math
import random

import pytest

torch = pytest.importorskip("torch")

from muster import core  # noqa: E402
from muster import pytorch  # noqa: E402
from muster.core.environment import MaxLength  # noqa: E402
from muster.pytorch import fingerprint, gradients, random_state  # noqa: E402
from muster.pytorch.reducers import MetricSums, NamedReducers  # noqa: E402
from muster.pytorch.sampling import EpochOrder  # noqa: E402
from muster.pytorch.seeds import derived_seed  # noqa: E402
from muster.pytorch.units import Batch, Epoch, Position, Record, unit_of  # noqa: E402

ALONE = core.DistributedContext.single()


def test_positions_and_periods():
    position, due = Position(), []
    for _ in range(12):
        after = position.after_batch(10, epoch_length=5)
        due.append((Batch(4).is_due(position, after), Epoch(1).is_due(position, after), Record(25).is_due(position, after)))
        position = after
    assert position == Position(batches=12, epochs=2, epoch_batches=2, records=120, epoch_records=20)
    assert [place + 1 for place, each in enumerate(due) if each[0]] == [4, 8, 12]
    assert [place + 1 for place, each in enumerate(due) if each[1]] == [5, 10]
    assert [place + 1 for place, each in enumerate(due) if each[2]] == [3, 5, 8, 10]
    assert Epoch(4).progress(position, 5) == (2 + 2 / 5) / 4 and Batch(6).progress(position, 5) == 1.0


def test_units_refuse_what_they_cannot_count():
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="above 0"):
            Batch(wrong)
    assert unit_of(MaxLength(3, "epochs")) == Epoch(3) and unit_of(MaxLength(7)) == Batch(7)
    assert unit_of(MaxLength(7), like=Record(1)) == Record(7)
    with pytest.raises(ValueError, match="'hours'"):
        unit_of(MaxLength(3, "hours"))
    with pytest.raises(ValueError, match="whole ones"):
        unit_of(MaxLength(1.5, "epochs"))


def test_every_order_covers_its_data_once_in_equal_steps():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    for _ in range(200):
        length, batch_size, size = draw.randint(1, 60), draw.randint(1, 7), draw.randint(1, 5)
        is_even, drop_last = draw.random() < 0.5, draw.random() < 0.3
        try:
            order = EpochOrder(length, batch_size, size, is_shuffled=True, drop_last=drop_last, is_even=is_even, seed=seed)
        except ValueError:
            assert is_even and (length < size or drop_last and length < batch_size * size)
            continue
        steps = [[order.keys(3, step, rank) for rank in range(size)] for step in range(order.steps)]
        seen = [index for step in steps for keys in step for _, index in keys]
        assert len(seen) == len(set(seen)) and {epoch for step in steps for keys in step for epoch, _ in keys} <= {3}
        assert [sum(map(len, step)) for step in steps] == [order.records(step) for step in range(order.steps)]
        missing = length - len(seen)
        if is_even:
            assert all(1 <= len(keys) <= batch_size for step in steps for keys in step)
            assert missing < (batch_size * size if drop_last else size)
        elif not drop_last:
            assert missing == 0


def test_the_order_follows_from_seed_and_epoch_alone():
    def order(seed, epoch, size=1):
        found = EpochOrder(40, 8 // size, size, is_shuffled=True, drop_last=False, is_even=True, seed=seed)
        return [index for step in range(found.steps) for rank in range(size) for _, index in found.keys(epoch, step, rank)]
    assert order(1, 0) == order(1, 0) != order(1, 1) != order(2, 1)
    assert order(1, 4) == order(1, 4, size=4)  # a global batch is the same, whoever takes which part
    assert sorted(order(1, 0)) == list(range(40))


def test_seeds_do_not_run_into_each_other():
    purposes = ((), ("a",), ("a", 1), ("a", "1"), (1, "a"), (1, 1))
    seeds = {derived_seed(seed, *purpose) for seed in (0, 1, 11) for purpose in purposes}
    assert len(seeds) == 18 and all(0 <= seed < 1 << 63 for seed in seeds)


class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        numpy = pytest.importorskip("numpy")
        return torch.tensor([index, random.random(), numpy.random.rand(), torch.rand(1).item(),
                             torch.rand(1, generator=pytorch.sample_generator()).item()], dtype=torch.float64)


def rows(rank, size, workers=0, first_step=0, epoch=2):
    sharded = pytorch.DataLoader(Noisy(), batch_size=6 // size, shuffle=True, num_workers=workers).shard(
        rank, size, 5, is_training=True)
    return [draw.batch for draw in sharded.batches(epoch, first_step)]


def test_augmentation_follows_the_sample_not_the_worker_the_rank_or_the_start():
    before = random_state.capture(torch.device("cpu"))
    whole = torch.cat(rows(0, 1))
    assert len(torch.unique(whole[:, 1:])) == 12 * 4
    assert torch.equal(whole, torch.cat(rows(0, 1, workers=2)))
    assert torch.equal(whole[6:], torch.cat(rows(0, 1, first_step=1)))
    shares = [rows(rank, 2) for rank in range(2)]
    assert torch.equal(whole, torch.cat([torch.cat([shares[0][step], shares[1][step]]) for step in range(2)]))
    other = torch.cat(rows(0, 1, epoch=3))
    assert not set(whole[:, 1].tolist()) & set(other[:, 1].tolist())
    after = random_state.capture(torch.device("cpu"))
    assert before["python"] == after["python"] and torch.equal(before["torch"], after["torch"])
    with pytest.raises(RuntimeError, match="__getitem__"):
        pytorch.sample_generator()


def test_data_that_cannot_be_found_back_into_is_refused():
    class Stream(torch.utils.data.IterableDataset):
        pass
    with pytest.raises(TypeError, match="Stream has no length"):
        pytorch.DataLoader(Stream())
    with pytest.raises(ValueError, match="batch_size is 0"):
        pytorch.DataLoader(Noisy(), batch_size=0)
    with pytest.raises(ValueError, match="12 samples are no batch of 2 for each of 20 ranks"):
        pytorch.DataLoader(Noisy(), batch_size=2).shard(0, 20, 0, is_training=True)


def test_generators_come_back_bit_for_bit():
    numpy = pytest.importorskip("numpy")

    def drawn():
        return [random.gauss(0, 1), numpy.random.randn(), torch.randn(3).tolist()]
    drawn()
    state = random_state.capture(torch.device("cpu"))
    expected = [drawn(), drawn()]
    random_state.seed_all(9)
    assert drawn() != expected[0]
    random_state.restore(state, torch.device("cpu"))
    assert [drawn(), drawn()] == expected


# ---- metrics ----

def test_metrics_are_weighed_by_samples_over_batches_and_ranks():
    choice = {"loss": pytorch.Reducer.AVG, "hits": pytorch.Reducer.SUM, "low": pytorch.Reducer.MIN,
              "high": pytorch.Reducer.MAX}
    ranks = [MetricSums(choice), MetricSums(choice), MetricSums(choice)]
    for rank, value, records in ((0, 1.0, 8), (0, 2.0, 8), (1, 5.0, 4)):
        ranks[rank].add({"loss": torch.tensor(value), "hits": value, "low": value, "high": torch.tensor([value])}, records)
    parts = [{name: (total.item(), weight) for name, (total, weight) in each.state_dict().items()} for each in ranks]
    assert ranks[0].combined(parts) == {"loss": (8 + 16 + 20) / 20, "hits": 8.0, "low": 1.0, "high": 5.0}
    again = MetricSums(choice)
    again.load_state_dict(ranks[0].state_dict())
    assert again.reduce(ALONE) == ranks[0].reduce(ALONE) == {"loss": 1.5, "hits": 3.0, "low": 1.0, "high": 2.0}
    again.reset()
    assert again.reduce(ALONE) == {}


def test_what_is_no_metric_is_named():
    sums = MetricSums(pytorch.Reducer.AVG)
    for value in (torch.zeros(2), "many", None, [1]):
        with pytest.raises(TypeError, match="metric 'odd'"):
            sums.add({"odd": value}, 1)
    sums.add({"loss": math.nan}, 1)
    assert math.isnan(sums.reduce(ALONE)["loss"])


def test_a_metric_that_the_reducers_do_not_name_is_a_mean():
    sums = MetricSums({"n": pytorch.Reducer.SUM})
    sums.add({"n": 1, "mse": 2}, 1)
    sums.add({"n": 1, "mse": 5}, 2)
    assert sums.reduce(ALONE) == {"n": 2.0, "mse": 4.0}


def test_a_function_that_was_given_nothing_is_not_called():
    from muster.pytorch.reducers import FunctionReducer
    named, reducer = NamedReducers(), FunctionReducer(max)  # max([]) raises
    named.add(reducer, "largest", True, True)
    assert named.reduce(ALONE, is_training=True) == {}
    reducer.update(3)
    assert named.reduce(ALONE, is_training=False) == {"largest": 3}


def test_a_validation_does_not_disturb_what_a_reducer_gathered_of_training():
    from muster.pytorch.reducers import FunctionReducer
    named, reducer = NamedReducers(), FunctionReducer(max)
    named.add(reducer, "most", True, True)
    reducer.update(3)
    with named.validating():
        reducer.update(9)
        assert named.reduce(ALONE, is_training=False) == {"most": 9}
    assert named.reduce(ALONE, is_training=True) == {"most": 3}


# ---- gradients ----

def test_buckets_hold_every_parameter_once_in_order():
    parameters = [torch.zeros(size, dtype=dtype) for size, dtype in
                  ((10, torch.float32), (3, torch.float64), (20, torch.float32), (1, torch.float32), (50, torch.float32))]
    buckets = gradients.bucketed(parameters, limit_bytes=100)
    assert [[tensor.numel() for tensor in bucket] for bucket in buckets] == [[10], [3], [20, 1], [50]]


# ---- schedules ----

def test_schedules_step_when_they_say():
    def rates(mode, frequency, counts):
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([parameter], lr=1.0)
        schedule = pytorch.LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5), mode, frequency)
        optimizer.step()
        for count in counts:
            schedule.step_if(pytorch.StepMode.STEP_EVERY_BATCH, count)
        return schedule.get_last_lr()[0]
    assert rates(pytorch.StepMode.STEP_EVERY_BATCH, 1, range(1, 5)) == 1 / 16
    assert rates(pytorch.StepMode.STEP_EVERY_BATCH, 2, range(1, 5)) == 1 / 4
    assert rates(pytorch.StepMode.STEP_EVERY_EPOCH, 1, range(1, 5)) == 1
    assert rates(pytorch.StepMode.MANUAL_STEP, 1, range(1, 5)) == 1
    with pytest.raises(ValueError, match="frequency is 0"):
        rates(pytorch.StepMode.STEP_EVERY_BATCH, 0, [])
    with pytest.raises(ValueError, match="leave it out"):
        rates(pytorch.StepMode.MANUAL_STEP, 2, [])


# ---- fingerprints ----

def test_differences_are_said_one_by_one():
    process = {"threads": 1, "torch": "1.13", "device": "cpu"}
    before = fingerprint.of_ranks([(process, 0), (process, 0), (process, 1), (process, 1)], {"seed": 7})
    assert before["world size"] == 4 and before["threads"] == 1
    assert fingerprint.differences(before, before) == [] and fingerprint.limits(before) == []
    now = fingerprint.of_ranks([(process, 0), ({**process, "threads": 2}, 0)], {"seed": 7})
    assert fingerprint.differences(before, now) == [
        "world size was 4, is 2", "ranks per node was [2, 2], is [2]", "threads was 1, is [1, 2]"]
    assert "deterministic=True" in fingerprint.limits({**before, "device": "cuda", "deterministic algorithms": False})[0]
    assert fingerprint.limits({**before, "loader workers": 2, "seeded samples": False}) != []


def test_cpu_kind_reads_model_and_instructions():
    one = fingerprint.cpu_kind("processor : 0\nmodel name\t: Fast 9000\nflags\t\t: fpu avx2\n\nmodel name : x\n")
    assert one["model"] == "Fast 9000"
    assert fingerprint.cpu_kind("model name : Fast 9000\nflags : avx2 fpu\n") == one
    assert fingerprint.cpu_kind("model name : Fast 9000\nflags : avx512f fpu\n")["instructions"] != one["instructions"]
