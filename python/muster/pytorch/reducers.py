"""How the metrics of many batches on many ranks become one number each, always in the same order."""
from __future__ import annotations

import abc
import copy
import enum
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from muster.core.distributed import DistributedContext


class Reducer(enum.Enum):
    """`AVG` weighs each batch by its samples; `SUM`, `MIN` and `MAX` take each batch's value as it is."""
    AVG = "avg"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


ReducerChoice = Union[Reducer, Mapping[str, Reducer]]


class MetricReducer(abc.ABC):
    """A metric that is no mean: it gathers what it likes on each rank, and makes a number, or several, of all of it.

    The trial feeds it in train_batch or evaluate_batch. What `per_slot_reduce` returns travels pickled.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forgets everything: a new period, or a new validation, begins."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """What this rank has to say."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric's value, or a dict of them if it was wrapped without a name, from what the ranks said, in order."""

    def state_dict(self) -> Dict[str, Any]:
        """For a checkpoint within a reporting period: all attributes, unless you say otherwise."""
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)


class FunctionReducer(MetricReducer):
    """Collects the values it is given with `update`, and makes of the flat list of all of them what a function says."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self._values: List[Any] = []

    def update(self, value: Any) -> None:
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> List[Any]:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: List[List[Any]]) -> Any:
        return self._function([value for values in per_slot_metrics for value in values])

    def state_dict(self) -> Dict[str, Any]:
        return {"values": list(self._values)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._values = list(state["values"])


_COMBINE: Dict[Reducer, Callable[[Any, Any], Any]] = {
    Reducer.AVG: lambda one, other: one + other, Reducer.SUM: lambda one, other: one + other,
    Reducer.MIN: torch.minimum, Reducer.MAX: torch.maximum}


def reducer_of(choice: ReducerChoice, name: str) -> Reducer:
    """A metric that a mapping does not name is a mean."""
    return choice if isinstance(choice, Reducer) else choice.get(name, Reducer.AVG)


class MetricSums:
    """The running totals of one rank: per metric a double on the metric's own device, and the weight of what is in it."""

    def __init__(self, choice: ReducerChoice) -> None:
        self._choice = choice
        self._totals: Dict[str, Tuple[torch.Tensor, int]] = {}

    def add(self, metrics: Mapping[str, Any], records: int) -> None:
        """One batch of `records` samples. Does not wait for a GPU.

        Errors: TypeError that names a metric which is not one number.
        """
        for name, value in metrics.items():
            reducer = reducer_of(self._choice, name)
            number = _number(name, value)
            if reducer is Reducer.AVG:
                number = number * records
            total, weight = self._totals.get(name, (None, 0))
            combined = number if total is None else _COMBINE[reducer](total.to(number.device), number)
            self._totals[name] = (combined, weight + records)

    def reduce(self, distributed: DistributedContext) -> Dict[str, float]:
        """Over all ranks, in their order; a rank that has seen nothing of a metric has no say in it. All ranks call it."""
        mine = {name: (total.item(), weight) for name, (total, weight) in self._totals.items()}
        return self.combined(distributed.allgather(mine))

    def combined(self, parts: Sequence[Mapping[str, Tuple[float, int]]]) -> Dict[str, float]:
        """Pure. Names in the order in which the ranks first had them."""
        metrics: Dict[str, float] = {}
        for name in dict.fromkeys(name for part in parts for name in part):
            reducer = reducer_of(self._choice, name)
            values = [part[name] for part in parts if name in part]
            if reducer in (Reducer.MIN, Reducer.MAX):
                metrics[name] = (min if reducer is Reducer.MIN else max)(value for value, _ in values)
                continue
            summed: float = sum(value for value, _ in values)  # from the first rank to the last
            metrics[name] = summed / sum(weight for _, weight in values) if reducer is Reducer.AVG else summed
        return metrics

    def reset(self) -> None:
        self._totals = {}

    def state_dict(self) -> Dict[str, Any]:
        return {name: (total.cpu(), weight) for name, (total, weight) in self._totals.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._totals = {name: (total, weight) for name, (total, weight) in state.items()}


def _number(name: str, value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.detach().reshape(()).to(torch.float64)
    if not isinstance(value, (str, torch.Tensor)):
        try:
            return torch.tensor(float(value), dtype=torch.float64)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"metric {name!r} is {_spelled(value)}; a metric is one number (others: context.wrap_reducer)")


def _spelled(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


class NamedReducers:
    """The reducers a trial has wrapped, for training, validation or both."""

    def __init__(self) -> None:
        self._entries: List[Tuple[Optional[str], MetricReducer, bool, bool]] = []

    def add(self, reducer: MetricReducer, name: Optional[str], for_training: bool, for_validation: bool) -> None:
        self._entries.append((name, reducer, for_training, for_validation))

    def _used(self, is_training: bool) -> List[Tuple[Optional[str], MetricReducer]]:
        return [(name, reducer) for name, reducer, for_training, for_validation in self._entries
                if (for_training if is_training else for_validation)]

    def reset(self, is_training: bool) -> None:
        for _, reducer in self._used(is_training):
            reducer.reset()

    @contextmanager
    def validating(self) -> Iterator[None]:
        """A validation within a reporting period: what was gathered of training comes back after it."""
        gathered = copy.deepcopy(self.state_dicts())
        self.reset(is_training=False)
        try:
            yield
        finally:
            self.load_state_dicts(gathered)

    def reduce(self, distributed: DistributedContext, is_training: bool) -> Dict[str, Any]:
        """All ranks call it. A function whose reducer was given nothing in this period is not called, and its metric is left out.

        Errors: TypeError when a reducer without a name makes no dict.
        """
        used = self._used(is_training)
        if not used:
            return {}
        parts = distributed.allgather([reducer.per_slot_reduce() for _, reducer in used])
        metrics: Dict[str, Any] = {}
        for place, (name, reducer) in enumerate(used):
            said = [part[place] for part in parts]
            if isinstance(reducer, FunctionReducer) and not any(said):
                continue
            value = reducer.cross_slot_reduce(said)
            if name is not None:
                metrics[name] = value
            elif isinstance(value, Mapping):
                metrics.update(value)
            else:
                raise TypeError(f"{type(reducer).__name__} was wrapped without a name, and made a {type(value).__name__}; "
                                "give it a name, or let it make a dict of names")
        return metrics

    def state_dicts(self) -> List[Any]:
        return [reducer.state_dict() for _, reducer, _, _ in self._entries]

    def load_state_dicts(self, states: Sequence[Any]) -> None:
        for (_, reducer, _, _), state in zip(self._entries, states):
            reducer.load_state_dict(state)
