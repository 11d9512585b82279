"""Searches that a program of yours decides: `searcher: {name: custom, metric: …, unit: …}`.

The classes have the names and shapes of Determined's `determined.searcher` (up to 0.37), so that a search method written for it
runs here when its import is changed. The search itself lives in the controller, journalled like every other: whichever side
crashes, it goes on where it was.
"""
from muster.searcher.method import ExitedReason, SearcherState, SearchMethod
from muster.searcher.operations import Close, Create, Operation, Progress, Shutdown, ValidateAfter
from muster.searcher.runner import LocalSearchRunner

__all__ = ["Close", "Create", "ExitedReason", "LocalSearchRunner", "Operation", "Progress", "SearchMethod", "SearcherState",
           "Shutdown", "ValidateAfter"]
