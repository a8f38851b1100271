"""One figure beside what it is measured against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A value, its baseline, and how many times the baseline it may be."""

    name: str
    value: float
    unit: str
    baseline: float
    """Measured, or what is allowed."""
    about: str
    """What the baseline is."""
    limit: float = 1.0
    """Times the baseline."""

    @property
    def ratio(self) -> float:
        """Value over baseline; of nothing, nothing is allowed."""
        if not self.baseline:
            return 0.0 if not self.value else float("inf")
        return self.value / self.baseline

    @property
    def is_within(self) -> bool:
        """Whether it is no more than it may be."""
        return self.ratio <= self.limit

    def line(self) -> str:
        """As the other benchmarks print theirs."""
        verdict = "ok" if self.is_within else "OVER"
        return (
            f"{self.name:<26} {self.value:9.2f} {self.unit:<5}  baseline {self.baseline:9.2f}"
            f" {self.unit:<5}  ratio {self.ratio:6.2f}  limit {self.limit:g}  {verdict}"
            f"  (against {self.about})"
        )
