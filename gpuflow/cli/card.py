"""`gpuflow card`: one screen to paste to a colleague."""

from __future__ import annotations

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output


def card(output: Output, request: Request) -> None:
    """Print the card."""
    from gpuflow.cli.request import inputs_of, scenario_of
    from gpuflow.engine.card import WHOLE, MemoryShare, card_of
    from gpuflow.exporters.card import card_text
    from gpuflow.exporters.card_document import card_document
    from gpuflow.exporters.tables import records

    scenario, launch = scenario_of(request), request.launch
    share = WHOLE
    if launch is not None:
        share = MemoryShare(
            fraction=launch.memory_fraction,
            of=launch.memory_rule,
            context_limit=launch.context_limit,
        )
    found = card_of(scenario, share)
    if output.format in {"json", "csv"}:
        document = {"inputs": inputs_of(scenario), **card_document(found, output.language)}
        if output.format == "json":
            output.document(document)
        else:
            output.records(records(document))
        return
    notes: list[str] = []
    if launch is not None:
        from gpuflow.cli.launching import card_notes

        notes = card_notes(request, launch, scenario, output.language)
    text, left = card_text(found, notes, output.language)
    output.write(f"```\n{text}\n```" if output.format == "markdown" else text)
    for sentence in left:
        output.tell(sentence)
