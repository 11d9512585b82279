"""What was measured, beside what it was built to be: lines while it runs, a Markdown table at the end."""
import os
import platform
import subprocess
from dataclasses import dataclass

from compare.timing import Series, number


@dataclass
class Budget:
    """At most (`is_most`) or at least so much, in the unit of the series. `text` is how the table says it."""
    limit: float
    text: str
    is_most: bool = True

    def is_met(self, series):
        return series.median <= self.limit if self.is_most else series.median >= self.limit


@dataclass
class Row:
    name: str
    imitates: str
    muster: Series
    slurm: Series | None = None
    budget: Budget | None = None

    @property
    def ratio(self):
        """How many times better Muster is."""
        if self.slurm is None:
            return ""
        times = self.muster.median / self.slurm.median if self.muster.is_rate else self.slurm.median / self.muster.median
        return f"{number(times)} x"

    @property
    def verdict(self):
        if self.budget is None:
            return ""
        return f"{self.budget.text}: {'met' if self.budget.is_met(self.muster) else 'MISSED'}"

    def cells(self):
        return [self.name, self.slurm.text() if self.slurm else "", self.muster.text(), self.ratio, self.verdict]


def machine():
    """What the figures were taken on."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="ascii", errors="replace")
                  if line.startswith("model name")), platform.machine())
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory_gib:.0f} GiB of memory, Linux {platform.release()}"


def commit(root):
    """The commit that was measured, or nothing outside a repository."""
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=10,
                          check=False)
    return done.stdout.strip()


class Report:
    def __init__(self):
        self.rows = []
        self.notes = []

    def section(self, title):
        print(f"\n== {title}", flush=True)

    def add(self, row):
        self.rows.append(row)
        print(f"{row.name}  [{row.imitates}]", flush=True)
        if row.slurm:
            print(f"    Slurm   {row.slurm.text()}", flush=True)
        print(f"    Muster  {row.muster.text()}" + (f"   {row.ratio}" if row.slurm else ""), flush=True)
        if row.budget:
            print(f"    budget  {row.verdict}", flush=True)

    def note(self, text):
        """A line that explains the table."""
        self.notes.append(text)
        print(f"    {text}", flush=True)

    def markdown(self):
        head = ["what", "Slurm", "Muster", "better by", "budget"]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(row.cells()) + " |" for row in self.rows]
        return "\n".join(lines + [""] + [f"- {note}" for note in self.notes])

    @property
    def missed(self):
        return [row.name for row in self.rows if row.budget and not row.budget.is_met(row.muster)]
