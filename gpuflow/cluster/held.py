"""How tensor parallelism treats the weights of a block."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitWeights:
    """Weights of one block, by what each rank holds of them."""

    split: int
    """Divided among the ranks by head."""
    kv_split: int
    """Key and value projections: divided among at most as many ranks as there are KV heads."""
    replicated: int
    """Held whole by every rank: latent down-projections, norms, output bias."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.split + self.kv_split + self.replicated

    def held(self, tp: int, kv_heads: int) -> float:
        """Weights on one of `tp` ranks."""
        return self.split / tp + self.kv_split / min(tp, kv_heads) + self.replicated
