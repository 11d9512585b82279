"""What a certification found, for people and for programs. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from muster.certify.contents import Difference, differences, digest_of, step_of
from muster.certify.trial_runs import Interruption

SHOWN = 8  # differences, for people


@dataclass(frozen=True)
class Comparison:
    """Of one thing, of the uninterrupted and of the interrupted training. `name`: "checkpoint", "metrics"."""
    name: str
    values: int
    digest: str
    apart: List[Difference]

    @property
    def within(self) -> Optional[float]:
        """0 when it is exact; the greatest relative difference when all are of floating-point values; else None."""
        amounts = [each.amount for each in self.apart]
        if any(amount is None for amount in amounts):
            return None
        return max((amount for amount in amounts if amount is not None), default=0.0)

    def text(self) -> str:
        if not self.values:
            return f"{self.name}: there are none"
        if not self.apart:
            return f"{self.name}: exact, {self.values} values, sha256 {self.digest}"
        found = f"{len(self.apart)} of {self.values} values differ"
        if self.within is not None:
            return f"{self.name}: {found}, by up to {self.within:.2g}"
        return f"{self.name}: differs ({found})"


def compared(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Comparison:
    return Comparison(name, len({*one, *other}), digest_of(one), differences(one, other))


@dataclass(frozen=True)
class Parting:
    """`step`: the first that differs; None when no metric does. `behind`: the interruption after whose resuming it was trained;
    None when it was trained before the first."""
    step: Optional[int]
    behind: Optional[Interruption]

    def __str__(self) -> str:
        where = "" if self.step is None else f" at step {self.step}"
        if self.behind is None:
            return f"they part{where}, before the first interruption"
        return f"they part behind the {self.behind}" + (f",{where}" if where else "")


def parted(comparisons: List[Comparison], made: Sequence[Interruption]) -> Optional[Parting]:
    """None when nothing differs, or when metrics do not and there was more than one interruption. `made`: in their order."""
    apart = [each for comparison in comparisons for each in comparison.apart]
    if not apart or not made:
        return None
    steps = [step for step in (step_of(each.place) for each in apart) if step is not None]
    if not steps:
        return Parting(None, made[0]) if len(made) == 1 else None
    # What was trained behind an interruption begins with the checkpoint that it resumed from, which may lie before the interruption.
    behind = [each for each in made if (each.resumed_from or 0) < min(steps)]
    return Parting(min(steps), behind[-1] if behind else None)


def summary(comparisons: List[Comparison], tolerance: float = 0.0) -> str:
    """"exact", "equal within x" if `tolerance` allows it, "differs by up to x", "differs", or "nothing to compare"."""
    if not any(each.values for each in comparisons):
        return "nothing to compare"
    bounds = [each.within for each in comparisons]
    if any(bound is None for bound in bounds):
        return "differs"
    if not any(each.apart for each in comparisons):
        return "exact"
    most = max(bound for bound in bounds if bound is not None)
    return f"equal within {most:.2g}" if most <= tolerance else f"differs by up to {most:.2g}"


def is_accepted(comparisons: List[Comparison], tolerance: float) -> bool:
    """Something was compared, and nothing is further apart than `tolerance`; 0 asks for every bit."""
    if not any(each.values for each in comparisons):
        return False
    return all(not each.apart if tolerance == 0 else each.within is not None and each.within <= tolerance
               for each in comparisons)


def lines_of(comparisons: List[Comparison]) -> List[str]:
    found = []
    for each in comparisons:
        found.append(each.text())
        found += [f"  {apart.place}: {apart.text}" for apart in each.apart[:SHOWN]]
        if len(each.apart) > SHOWN:
            found.append(f"  ... and {len(each.apart) - SHOWN} more")
    return found


def document(comparisons: List[Comparison]) -> List[Dict[str, Any]]:
    return [{"name": each.name, "values": each.values, "sha256": each.digest, "within": each.within,
             "differences": [vars(apart) for apart in each.apart]} for each in comparisons]
