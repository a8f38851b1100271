"""A question, and then its answer, as words for the play screen."""

from __future__ import annotations

from string import ascii_uppercase

from gpuflow.cells import cell_width
from gpuflow.draw.bound import first_key
from gpuflow.draw.texts import has_panel, panel_width
from gpuflow.draw.view import Caption, Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.question_choice import Choice, Question, written
from gpuflow.engine.questions import questions
from gpuflow.units import Quantity

KEY_ROWS = 1
"""Rows of key hints while a question is open, on a screen that has a panel for its words."""
LONG_WIDTH = 76
"""Narrower screens get a shorter title."""
PAGE_MARK = 10


def question_caption(
    scene: Scene, question: Question, place: tuple[int, int], size: tuple[int, int]
) -> Caption:
    """What is asked, with its choices.

    Args:
        scene: Language and timeline.
        question: Which question.
        place: Its number, from 1, and how many there are.
        size: Columns and rows of the screen.
    """
    choices = [
        scene.word("ask.choice", letter=ascii_uppercase[index], choice=choice_text(scene, choice))
        for index, choice in enumerate(question.choices)
    ]
    title = _title(scene, "ask.title", question, place, size[0])
    return Caption(
        title=title,
        lead=question_text(scene, question),
        text=("\n" if _is_roomy(size) else " | ").join(choices),
        hint=_hint(scene, "ask.hint", title, size),
        needs_room=True,
        mode="question",
    )


def answer_caption(
    scene: Scene, question: Question, place: tuple[int, int], size: tuple[int, int]
) -> Caption:
    """The right choice, its calculation in a line, and how one comes to the others."""
    lead = scene.word(
        "ask.choice",
        letter=ascii_uppercase[question.right],
        choice=choice_text(scene, question.answer),
    )
    title = _title(scene, "ask.title_answer", question, place, size[0])
    return Caption(
        title=title,
        lead=lead,
        text="\n".join(part for part in answer_texts(scene, question) if part),
        hint=_hint(scene, "ask.hint_answer", title, size),
        needs_room=True,
        mode="question",
    )


def caption_from(
    scene: Scene, moments: Moments, screen_s: float, size: tuple[int, int]
) -> tuple[float, Caption | None]:
    """The first question from a moment on.

    Returns:
        (its moment, its words); the moment given and None where nothing is asked any more.
    """
    asked = questions(moments)
    for number, question in enumerate(asked, start=1):
        if question.moment_s >= screen_s:
            return question.moment_s, question_caption(scene, question, (number, len(asked)), size)
    return screen_s, None


def ahead_caption(scene: Scene, step: int) -> Caption:
    """The step's title alone: its text would give the answer away."""
    title = scene.t("text.heading", step=step + 1, title=scene.texts[step].title)
    return Caption(
        title=title,
        lead=scene.word("ask.ahead"),
        text="",
        hint=scene.word("ask.hint_ahead", a=first_key("ask", scene.bound)),
    )


def question_text(scene: Scene, question: Question) -> str:
    """The question itself."""
    kind, about = question.kind, question.about
    key = f"ask.{kind}.{about}" if kind in {"primitive", "messages"} else f"ask.{kind}"
    return scene.word(key, **_values(scene, question))


def choice_text(scene: Scene, choice: Choice) -> str:
    """A choice in words or as a figure."""
    about, _, name = choice.name.partition(".")
    if about == "collective":
        return scene.t(f"collective.{name}")
    return scene.word(f"ask.choice.{choice.name}") if name else written(choice.values["value"])


def answer_texts(scene: Scene, question: Question) -> tuple[str, str]:
    """(calculation or reason, how one comes to the other choices)."""
    others = [
        scene.word("ask.because", letter=ascii_uppercase[index], mistake=mistake)
        for index, choice in enumerate(question.choices)
        if index != question.right and (mistake := _mistake(scene, choice))
    ]
    return _reason(scene, question), scene.word(
        "ask.others", list=scene.word("ask.separator").join(others)
    ) if others else ""


def _reason(scene: Scene, question: Question) -> str:
    if question.kind == "primitive":
        _, _, collective = question.about.partition(".")
        return _sentence(scene, scene.word(f"ask.what.{collective}"))
    if question.kind == "sums":
        return _sentence(scene, scene.word(f"ask.what.{question.about}"))
    about = {"size": question.about, "time": question.about}.get(question.kind, question.kind)
    return scene.word(f"ask.answer.{about}", **_values(scene, question))


def _sentence(scene: Scene, words: str) -> str:
    """Words that begin a line and end it."""
    return f"{words}。" if scene.language == "zh" else f"{words[0].upper()}{words[1:]}."


def _mistake(scene: Scene, choice: Choice) -> str:
    about, _, name = choice.name.partition(".")
    if about == "collective":
        return scene.word(f"ask.what.{name}")
    return scene.word(f"ask.mistake.{choice.mistake}") if choice.mistake else ""


def _values(scene: Scene, question: Question) -> dict[str, object]:
    values = dict(question.values)
    collective = values.get("collective")
    if collective:
        values["collective"] = scene.t(f"collective.{collective}")
    payload = values.get("payload")
    if payload:
        values["payload"] = scene.word(f"ask.payload.{payload}")
    value = question.answer.values.get("value")
    return {"value": value if isinstance(value, Quantity) else "", **values}


def _title(scene: Scene, key: str, question: Question, place: tuple[int, int], width: int) -> str:
    form = key if width >= LONG_WIDTH else f"{key}_short"
    return scene.word(form, number=place[0], total=place[1], step=question.step + 1)


def _hint(scene: Scene, key: str, title: str, size: tuple[int, int]) -> str:
    """The longest hint that its place has room for: a panel's row, or what the title leaves."""
    a, q = (first_key(name, scene.bound) for name in ("ask", "quit"))
    forms = [scene.word(f"{key}{form}", a=a, q=q) for form in ("", "_short", "_shortest")]
    # Answers, and where lines are short all words, have a second page, and a mark that says so.
    has_one_page = size[0] >= LONG_WIDTH and key == "ask.hint"
    room = size[0] - 4 - cell_width(title) - (0 if has_one_page else PAGE_MARK)
    if _is_roomy(size):
        room = panel_width(size[0]) - 4
    return next((form for form in forms if cell_width(form) <= room), forms[-1])


def _is_roomy(size: tuple[int, int]) -> bool:
    """Whether every choice has a row of its own."""
    return has_panel(size[0], size[1] - KEY_ROWS)
