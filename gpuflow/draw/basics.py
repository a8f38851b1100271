"""The basics screen: what inference is, its two phases, the KV cache, TP/PP/EP, this setup."""

from __future__ import annotations

from gpuflow.cells import sanitise
from gpuflow.cluster.parameters import stage_layers
from gpuflow.draw.canvas import Piece, width_of
from gpuflow.draw.frame import Frame
from gpuflow.draw.links import ACROSS, DOWN
from gpuflow.draw.page import Block, Line, Page
from gpuflow.draw.view import Scene
from gpuflow.engine.facts import facts
from gpuflow.engine.facts import layer_range as range_text

TWO_COLUMNS = 96
STAGES_DRAWN = 4
"""More stages than this are drawn as the first two and the last."""
_SQUARES = {"tp": "🟦", "pp": "🟪", "ep": "🟧"}


def draw_basics(scene: Scene, width: int) -> Frame:
    """The whole screen at a width, as tall as it needs to be."""
    page = Page(width)
    page.words(
        Piece(f"📖 {scene.word('basics.heading')}", "title"),
        Piece(f"   {scene.word('basics.subheading')}", "subtitle"),
    )
    room = ((width - 1) // 2 if width >= TWO_COLUMNS else width) - 4
    left = (_what(scene), _phases(scene), _cache(scene))
    right = (_parallel(scene), _setup(scene), _metrics(scene, room))
    if width >= TWO_COLUMNS:
        page.columns((left, right))
    else:
        for block in (*left, *right):
            page.beside((block,))
    return page.to_frame()


def _block(scene: Scene, icon: str, key: str, lines: list[Line]) -> Block:
    return Block(
        title=(Piece(f"{icon} {scene.word(f'basics.{key}.heading')}", "title"),),
        lines=tuple(lines),
    )


def _what(scene: Scene) -> Block:
    steps = [Line(scene.word(f"basics.what.step{n}"), indent=2, bullet=str(n)) for n in (1, 2, 3)]
    return _block(
        scene,
        "🎯",
        "what",
        [
            Line(scene.word("basics.what.intro")),
            *steps,
            Line(scene.word("basics.what.forward"), "strong"),
        ],
    )


def _phases(scene: Scene) -> Block:
    lines: list[Line] = []
    for phase in ("prefill", "decode"):
        title = scene.word(f"basics.{phase}.title")
        when = scene.word(f"basics.{phase}.when")
        lines += [
            Line(pieces=(Piece(f" {title} ", f"badge_{phase}"), Piece(f"  {when}", "strong"))),
            Line(scene.word(f"basics.{phase}.what"), indent=2),
            Line(scene.word(f"basics.{phase}.nature"), "accent", indent=2),
            Line(scene.word(f"basics.{phase}.why"), "dim", indent=2),
        ]
    return _block(scene, "⚡", "phases", lines)


def _cache(scene: Scene) -> Block:
    values = facts(scene.timeline, 0)
    here = scene.word(
        "basics.kv.here",
        kv_per_token=values["kv_per_token"],
        kv_after_prefill=values["kv_after_prefill"],
    )
    # A recording knows nothing of the cache.
    known = [Line(here, "kv", indent=2)] if scene.timeline.recording is None else []
    points = [Line(scene.word(f"basics.kv.point{n}"), indent=2, bullet="•") for n in (1, 2, 3)]
    return _block(
        scene,
        "💾",
        "kv",
        [
            Line(scene.word("basics.kv.intro")),
            *points,
            *known,
            Line(scene.word("basics.kv.without"), "strong"),
        ],
    )


def _parallel(scene: Scene) -> Block:
    lines: list[Line] = []
    for name, square in _SQUARES.items():
        sign = DOWN[name] if name == "pp" else ACROSS[name]
        lines += [
            Line(
                pieces=(
                    Piece(f"{square} {scene.word(f'basics.{name}.title')} {sign} ", name),
                    Piece(scene.word(f"basics.{name}.name"), "strong"),
                )
            ),
            Line(scene.word(f"basics.{name}.point"), indent=3),
            Line(scene.word(f"basics.{name}.remark"), "dim", indent=3),
        ]
    return _block(scene, "🔀", "parallel", lines)


def _setup(scene: Scene) -> Block:
    scenario = scene.timeline.scenario
    p = scenario.parallel
    lines: list[Line] = []
    stages = list(range(p.pp))
    if p.pp > STAGES_DRAWN:
        stages = [0, 1, p.pp - 1]
    for index, stage in enumerate(stages):
        if index:
            hop = scene.word("basics.setup.hop")
            text = hop if stage == stages[index - 1] + 1 else f"{hop} …"
            lines.append(Line(text, "pp", is_centred=True))
        lines += _stage(scene, stage)
    total = "basics.setup.total_dp" if p.dp > 1 else "basics.setup.total"
    lines.append(
        Line(scene.word(total, gpus=p.world, tp=p.tp, pp=p.pp, dp=p.dp), "strong", is_centred=True)
    )
    if p.dp > 1:
        lines.append(Line(scene.word("basics.setup.replicas", dp=p.dp)))
    if p.ep > 1:
        lines.append(Line(scene.word("basics.setup.experts", ep=p.ep), "ep"))
    return _block(scene, "📺", "setup", [*lines, *_played(scene)])


def _played(scene: Scene) -> list[Line]:
    """Model, machines and load; of a recording what its trace says of them."""
    scenario, recording = scene.timeline.scenario, scene.timeline.recording
    w, cluster = scenario.workload, scenario.cluster
    gpu = sanitise(cluster.device.title)
    if recording is not None and not recording.has_model:
        return [Line(scene.word("basics.setup.recorded", gpu=gpu), "dim")]
    model = scene.word(
        "basics.setup.model",
        model=scenario.model.title,
        gpu=gpu,
        scale_up=cluster.scale_up.title,
    )
    work = scene.word(
        "basics.setup.workload", batch=w.batch, prompt=w.prompt_tokens, output=w.output_tokens
    )
    is_known = recording is None or recording.has_phase
    return [Line(text, "dim") for text in ((model, work) if is_known else (model,))]


def _stage(scene: Scene, stage: int) -> list[Line]:
    p = scene.timeline.scenario.parallel
    ranks = scene.mesh.stage_ranks(stage)
    first, last = ranks[0], ranks[p.tp - 1]
    form = "single" if p.tp == 1 else "pair" if p.tp == 2 else "group"
    held = stage_layers(scene.timeline.scenario, stage)
    layers, recording = range_text(held.start + 1, held.stop), scene.timeline.recording
    has_layers = recording is None or recording.has_layers
    text = "basics.setup.stage" if has_layers else "basics.setup.stage_alone"
    return [
        Line(
            scene.word(f"basics.setup.{form}", first=first, last=last),
            "tp" if p.tp > 1 else "strong",
            is_centred=True,
        ),
        Line(
            scene.word(text, stage=stage + 1, layers=layers, tp=p.tp),
            is_centred=True,
        ),
    ]


def _metrics(scene: Scene, room: int) -> Block:
    """What each is called, means and counts; what does not fit beside the name stands below it."""
    lines: list[Line] = []
    for name in ("ttft", "tpot", "tps"):
        head = (
            Piece(f"{scene.word(f'basics.{name}.name')}  ", "accent"),
            Piece(scene.word(f"basics.{name}.long"), "strong"),
        )
        meaning = scene.word(f"basics.{name}.meaning")
        beside = (*head, Piece(f"  {meaning}"))
        is_beside = width_of(beside) <= room
        lines.append(Line(pieces=beside if is_beside else head))
        if not is_beside:
            lines.append(Line(meaning, indent=6))
        lines.append(Line(scene.word(f"basics.{name}.detail"), "dim", indent=6))
    return _block(scene, "📊", "metrics", lines)
