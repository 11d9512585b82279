"""What a certification found, for people and for programs. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

from muster.certify.contents import Difference, differences, digest_of

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
            return f"{self.name}: {found}, by {self.within:.2g} at most"
        return f"{self.name}: differs ({found})"


def compared(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Comparison:
    return Comparison(name, len({*one, *other}), digest_of(one), differences(one, other))


def summary(comparisons: List[Comparison]) -> str:
    """"exact", "equal within x", "differs", or "nothing to compare"."""
    if not any(each.values for each in comparisons):
        return "nothing to compare"
    bounds = [each.within for each in comparisons]
    if any(bound is None for bound in bounds):
        return "differs"
    if not any(each.apart for each in comparisons):
        return "exact"
    return f"equal within {max(bound for bound in bounds if bound is not None):.2g}"


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
