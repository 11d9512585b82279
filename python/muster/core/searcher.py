"""`context.searcher`: how far to train, as the search that runs this trial wants it, or as the environment says."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Union

from muster.core.environment import MaxLength
from muster.core.errors import MusterError
from muster.core.train import TrainContext


@dataclass(frozen=True)
class Search:
    """What the search judges by, and how far it trains. None is "not told"."""
    metric_name: Optional[str]
    max_length: Optional[MaxLength]


class SearcherOperation:
    """Train up to `length` in all, counted from the beginning of the trial in `unit`, then report the metric."""

    def __init__(self, train: TrainContext, rank: int, max_length: MaxLength) -> None:
        self.length: Union[int, float] = max_length.length
        self.unit: Optional[str] = max_length.unit
        self._train = train
        self._rank = rank
        self._is_completed = False

    @property
    def is_completed(self) -> bool:
        return self._is_completed

    def report_progress(self, units_completed: float) -> None:
        """`units_completed` of `length`. Called by rank 0. Errors: NotChiefError, ValueError."""
        if math.isnan(units_completed) or units_completed < 0:
            raise ValueError(f"progress is {units_completed!r} of {self.length}; it counts from 0")
        self._train.report_progress(min(1.0, units_completed / self.length))

    def report_completed(self, metric: Any) -> None:
        """`metric` at `length`; NaN is allowed and ranks worst. Called by rank 0, once.

        Errors: NotChiefError; MusterError the second time.
        """
        if self._is_completed:
            raise MusterError(f"the operation of length {self.length} was reported as completed before")
        self._train.report_searcher_metric(self.length, metric)
        self._is_completed = True


class SearcherContext:
    def __init__(self, train: TrainContext, rank: int, max_length: Optional[MaxLength], metric_name: Optional[str]) -> None:
        self._train = train
        self._rank = rank
        self._search = Search(metric_name, max_length)

    def get_search_info(self) -> Search:
        """From MUSTER_SEARCHER_METRIC and MUSTER_MAX_LENGTH."""
        return self._search

    def operations(self, default_length: Optional[float] = None) -> Iterator[SearcherOperation]:
        """One operation, up to MUSTER_MAX_LENGTH, else to `default_length`. All ranks may loop over it.

        On rank 0 the loop's body must have called report_completed() when it comes round; leaving the loop is allowed.
        Errors: ValueError when there is no length, MusterError when the body reported nothing.
        """
        max_length = self._search.max_length
        if max_length is None and default_length is not None:
            if not 0 < default_length < math.inf:
                raise ValueError(f"default_length is {default_length!r}; it is a positive number")
            max_length = MaxLength(default_length)
        if max_length is None:
            raise ValueError('MUSTER_MAX_LENGTH is not set; set it (a number, or {"epochs": 64}) or pass default_length')
        operation = SearcherOperation(self._train, self._rank, max_length)
        yield operation
        if self._rank == 0 and not operation.is_completed:
            raise MusterError("the searcher's operation ended without report_completed(metric)")
