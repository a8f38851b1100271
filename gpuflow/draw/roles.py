"""What a piece of the picture is; a theme decides what each looks like.

A role never carries meaning alone: beside it stands a word, a sign or a kind of line.
"""

from __future__ import annotations

from collections.abc import Mapping

ROLES: Mapping[str, str] = {
    "text": "Sentences to read.",
    "strong": "Words in a sentence or panel that count most.",
    "dim": "What is true but not looked at now: units, hints, resting states.",
    "title": "Headings.",
    "subtitle": "The line under a heading.",
    "clock": "Simulated time, the one thing that always ticks.",
    "border": "Frames and boxes at rest.",
    "border_lit": "The frame of the stage at work.",
    "tp": "Tensor parallel while bytes move; double line.",
    "tp_dim": "A tensor-parallel link at rest.",
    "pp": "Pipeline parallel while bytes move; heavy line.",
    "pp_dim": "A pipeline link at rest.",
    "ep": "Expert parallel while bytes move; dashed line.",
    "ep_dim": "An expert-parallel link at rest, or one this model does not use.",
    "host": "Prompts, token ids and answers on their way.",
    "compute": "A GPU that computes.",
    "wait": "A GPU that waits, or has nothing to do yet.",
    "reduce": "A number that has just been added up.",
    "number": "A number of the small replay before anything is done to it.",
    "kv": "KV cache in use.",
    "kv_free": "KV cache still to be filled.",
    "badge_prefill": "The word PREFILL.",
    "badge_decode": "The word DECODE.",
    "tab": "A tab that is not open.",
    "tab_open": "The open tab.",
    "key": "A key to press.",
    "good": "Enough: the verdict ok, a total that is complete.",
    "warn": "Just enough: the verdict tight.",
    "bad": "Not enough: the verdict short.",
    "accent": "The playhead, the lit card, what was asked for.",
}
"""Every role a Frame may hold, and what it is for."""

CLASS_ROLES: Mapping[str, str] = {
    "tp": "tp",
    "logits": "tp",
    "pp": "pp",
    "ep": "ep",
    "kv": "pp",
    "token": "host",
    "input": "host",
    "output": "host",
}
"""Role of each traffic class while its bytes move."""


def at_rest(role: str) -> str:
    """The role a link of that role has while nothing moves."""
    return f"{role}_dim" if f"{role}_dim" in ROLES else "dim"
