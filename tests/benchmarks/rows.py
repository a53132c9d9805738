"""A row of the table of benchmarks. Less is better everywhere, and a ratio is ours over theirs."""

from dataclasses import dataclass

WIDTH = 78
HEADER = f"{'less is better; ratio = ours / theirs':{WIDTH}}{'ours':>12}{'theirs':>12}{'ratio':>8}   goal"


@dataclass(frozen=True)
class Row:
    what: str
    ours: float
    unit: str
    theirs: float | None = None
    most: float | None = None  # goal for ours
    most_ratio: float | None = None  # goal for ours over theirs

    @property
    def is_met(self) -> bool:
        bounds = ((self.ours, self.most), (self.ratio, self.most_ratio))
        return all(value <= most for value, most in bounds if most is not None)

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    def __str__(self) -> str:
        theirs = f"{self.theirs:.4g} {self.unit}" if self.theirs else ""
        ratio = f"{self.ratio:.2f}" if self.theirs else ""
        goals = [f"at most {self.most} {self.unit}"] if self.most else []
        goals += [f"ratio at most {self.most_ratio:.3g}"] if self.most_ratio else []
        verdict = f"{', '.join(goals)}: {'met' if self.is_met else 'MISSED'}" if goals else ""
        return f"{self.what:{WIDTH}}{self.ours:9.4g} {self.unit:2}{theirs:>12}{ratio:>8}   {verdict}".rstrip()
