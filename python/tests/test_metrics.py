"""Which rows survive, and how a run folder's metrics are read."""
import json
import math
import random

import pytest

from muster.core.metrics import MetricRow, merged, read_metrics, replaces, surviving


def row(run, group, steps, time=0.0, **metrics):
    return MetricRow(run, group, steps, time, metrics)


def steps_of(rows, group="training"):
    return [(each.run, each.steps) for each in rows if each.group == group]


def test_training_is_replaced_strictly_beyond():
    rows = [row(1, "training", steps) for steps in (5, 10, 15)] + [row(2, "training", 10)]
    assert steps_of(surviving(rows)) == [(1, 5), (1, 10), (2, 10)]


@pytest.mark.parametrize("group", ["validation", "mine"])
def test_other_groups_are_replaced_at_or_beyond(group):
    rows = [row(1, group, steps) for steps in (5, 10, 15)] + [row(2, group, 10)]
    assert steps_of(surviving(rows), group) == [(1, 5), (2, 10)]


def test_training_and_validation_take_each_other_back():
    rows = [row(1, "training", 15), row(1, "validation", 10), row(1, "validation", 20), row(1, "mine", 20),
            row(2, "training", 10)]
    assert surviving(rows) == [rows[1], rows[3], rows[4]]
    rows = [row(1, "training", 10), row(1, "training", 20), row(2, "validation", 10)]
    assert surviving(rows) == [rows[0], rows[2]]


def test_a_report_beyond_all_there_is_replaces_nothing():
    rows = [row(1, "training", 5), row(2, "training", 6)]
    assert surviving(rows) == rows


def test_system_metrics_stay():
    rows = [row(1, "cpu", None, 1.0), row(1, "training", 9), row(2, "training", 1), row(2, "cpu", None, 2.0)]
    assert surviving(rows) == [rows[0], rows[2], rows[3]]


def test_rows_of_one_step_merge():
    rows = [row(1, "training", 10, 1.0, a=1, b=1), row(1, "training", 5, 2.0, a=0), row(1, "training", 10, 3.0, c=1),
            row(2, "training", 10, 2.5, b=2)]
    series = merged(rows)["training"]
    assert [(each.run, each.steps, each.time, each.metrics) for each in series] == [
        (1, 5, 2.0, {"a": 0}), (2, 10, 3.0, {"a": 1, "b": 2, "c": 1})]


def test_reading_a_folder(tmp_path):
    assert read_metrics(tmp_path) == {}
    lines = [row(1, "training", 1, 1.0, loss="NaN", up="Infinity", down="-Infinity").to_line(),
             row(1, "cpu", None, 5.0, a=1).to_line(), row(1, "cpu", None, 5.0, a=2).to_line()]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text + '{"run": 1, "group": "training", "ste')
    series = read_metrics(str(tmp_path))
    assert list(series) == ["cpu", "training"] and [each.metrics["a"] for each in series["cpu"]] == [1, 2]
    found = series["training"][0].metrics
    assert math.isnan(found["loss"]) and (found["up"], found["down"]) == (math.inf, -math.inf)


def slow_read(rows):
    """The rule word for word: every row against every other, then every step looked for in all rows."""
    kept = [one for one in rows if not any(replaces(other, one) for other in rows)]
    series = {}
    for group in sorted({one.group for one in kept}):
        mine = [one for one in kept if one.group == group]
        series[group] = []
        for steps in sorted({one.steps for one in mine if one.steps is not None}):
            metrics, run = {}, 0
            for one in sorted((one for one in mine if one.steps == steps), key=lambda one: one.run):
                metrics.update(one.metrics)
                run = one.run
            series[group].append((run, steps, metrics))
        timed = sorted((one for one in mine if one.steps is None), key=lambda one: one.time)
        series[group] += [(one.run, None, one.metrics) for one in timed]
    return series


def random_rows(rng):
    rows, runs = [], rng.randint(1, 4)
    for run in range(1, runs + 1):
        for _ in range(rng.randint(0, 12)):
            group = rng.choice(["training", "validation", "mine", "cpu"])
            steps = None if group == "cpu" else rng.randint(0, 8)
            rows.append(row(run, group, steps, float(len(rows)), **{rng.choice("abc"): rng.choice([1, 2.5, "Infinity"])}))
    return rows


def test_reading_agrees_with_the_rule_word_for_word(tmp_path):
    first = random.randrange(10**9)
    print(f"seeds {first}..{first + 499} and 0..99")
    for seed in [*range(first, first + 500), *range(100)]:
        rows = random_rows(random.Random(seed))
        fast = {group: [(one.run, one.steps, one.metrics) for one in series]
                for group, series in merged(surviving(rows)).items()}
        assert fast == slow_read(rows), f"seed {seed}"
    # And once through a file.
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one.to_line()) + "\n" for one in rows))
    read = {group: [(one.run, one.steps) for one in series] for group, series in read_metrics(tmp_path).items()}
    assert read == {group: [each[:2] for each in series] for group, series in slow_read(rows).items()}
