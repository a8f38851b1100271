"""Whom each rank exchanges with in a round, in signs and in words, and the room all of it needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpuflow.cells import cell_width
from gpuflow.draw.explore_nets import lines_of
from gpuflow.draw.explore_plan import Needs, Ports
from gpuflow.engine.explore import Subject
from gpuflow.scenario.spec import Language
from gpuflow.words import t

MOST_NAMED = 3
"""More peers than this are counted instead of named."""


@lru_cache(maxsize=64)
def needs_of(subject: Subject, language: Language) -> Needs:
    """What a subject asks of a plan, the same in all its rounds; for one whose ranks are drawn."""
    replay, lines = subject.replay(), lines_of(subject)
    moments = [(r, n) for n in range(1, len(replay.rounds) + 1) for r in range(replay.n_ranks)]
    ports = []
    for named in (MOST_NAMED, 1):
        texts = [
            (
                sends_text(subject, language, *moment, named),
                receives_text(subject, language, *moment, named),
            )
            for moment in moments
        ]
        sends, receives = (max(map(cell_width, column)) for column in zip(*texts, strict=True))
        ports.append(Ports(named, sends, receives))
    words = [text for moment in moments for text in rank_words(subject, language, *moment)]
    return Needs(
        n_ranks=replay.n_ranks,
        ranks_per_node=replay.ranks_per_node,
        vector=2 + len(replay.before[0].values) * (digits_of(subject) + 1),
        words=max(map(cell_width, words), default=0),
        ports=() if replay.n_switches else tuple(ports),
        inside=lines.inside,
        between=lines.between,
        has_switch=replay.n_switches > 0,
    )


@lru_cache(maxsize=64)
def digits_of(subject: Subject) -> int:
    """Cells of the widest number anywhere, so that columns keep their place."""
    replay = subject.replay()
    rows = [*replay.before]
    for one in replay.rounds:
        rows += [*one.rows, *([one.switch_row] if one.switch_row else [])]
    return max((len(str(v)) for row in rows for v in row.values if v is not None), default=1)


def sends_text(subject: Subject, language: Language, rank: int, number: int, named: int) -> str:
    """Whom a rank sends to in a round: `»3`, or how many if they are more than `named`."""
    peers, _ = _peers(subject, rank, number, is_sending=True)
    return f"»{_named(subject, language, peers, named)}" if peers else ""


def receives_text(subject: Subject, language: Language, rank: int, number: int, named: int) -> str:
    """Whom it receives from, and whether it adds: `«3+`."""
    peers, _ = _peers(subject, rank, number, is_sending=False)
    sign = "" if _way(subject, rank, number) == "gets" else "+"
    return f"«{_named(subject, language, peers, named)}{sign}" if peers else ""


def rank_words(subject: Subject, language: Language, rank: int, number: int) -> tuple[str, str]:
    """What a rank sends and receives in a round, in words."""
    words = []
    for is_sending in (True, False):
        peers, moved = _peers(subject, rank, number, is_sending=is_sending)
        if not peers:
            words.append("")
            continue
        way = "sends" if is_sending else _way(subject, rank, number)
        form = "one" if moved == 1 else "many"
        names = _named(subject, language, peers, MOST_NAMED)
        if names[0].isdigit():
            names = t("explore.box.gpus", language, ranks=names)
        words.append(t(f"explore.box.{way}.{form}", language, count=moved, peers=names))
    return words[0], words[1]


def _peers(subject: Subject, rank: int, number: int, *, is_sending: bool) -> tuple[list[int], int]:
    """Peers on the other side in a round (numbered from 1), and the numbers moved."""
    one = subject.replay().rounds[number - 1]
    found: list[int] = []
    moved = 0
    for (source, to), count in zip(one.transfers, one.counts, strict=True):
        own, other = (source, to) if is_sending else (to, source)
        if own == rank:
            found.append(other)
            moved += count
    return sorted(found), moved


def _way(subject: Subject, rank: int, number: int) -> str:
    """Whether a rank adds what it receives in a round: gets, adds, or some of both."""
    one = subject.replay().rounds[number - 1]
    ways = {a for (_, to), a in zip(one.transfers, one.adds, strict=True) if to == rank}
    return "some" if len(ways) > 1 else "adds" if True in ways else "gets"


def _named(subject: Subject, language: Language, peers: Sequence[int], most: int) -> str:
    n = subject.n_ranks
    if n in peers:
        return t("explore.switch", language)
    if len(peers) == n - 1 and n > 2:
        return t("explore.ports.all", language)
    if len(peers) > most:
        return f"×{len(peers)}"
    return ",".join(map(str, peers))
