"""`gpuflow show`: everything about one model, GPU, fabric, profile, scenario or term."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpuflow.cli.options import DEFAULT_FORMAT, bad_option, nearest, one_of
from gpuflow.cli.output import Output

KINDS = ("model", "gpu", "fabric", "profile", "scenario", "term")

KindArgument = Annotated[
    str, typer.Argument(parser=one_of("KIND", KINDS), metavar=f"{{{'|'.join(KINDS)}}}")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME")]
SourceOption = Annotated[bool, typer.Option("--source")]


def show(
    output: Output, kind: KindArgument, name: NameArgument, source: SourceOption = False
) -> None:
    """Print one entry, or the whole file of a shipped scenario."""
    if source:
        if kind != "scenario":
            raise bad_option("--source", "source_scenario_only", found=kind)
        if output.format != DEFAULT_FORMAT:
            raise bad_option("--format", "source_format", found=output.format)
        from gpuflow.scenario.load import scenario_path

        output.write(scenario_path(name).read_text("utf-8").rstrip("\n"))
        return
    from gpuflow.exporters.catalogue import record_table

    record = _record(kind, name, output)
    if output.format == "json":
        output.document({"inputs": {"kind": kind, "name": name}, **record})
    elif output.format == "csv":
        output.records([record])
    else:
        output.tables(record_table(str(record["title"]), record, output.language))


def _record(kind: str, name: str, output: Output) -> dict[str, Any]:
    if kind == "term":
        return _term_record(name, output)
    from gpuflow.exporters import catalogue
    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario import catalog
    from gpuflow.scenario.load import load_scenario

    if kind == "model":
        # A path is a config.json or its folder; everything else is a name.
        is_file = name not in catalog.model_names() and Path(name).exists()
        model = read_model(Path(name)) if is_file else catalog.model(name)
        return catalogue.model_record(model, output.language)
    if kind == "gpu":
        return catalogue.device_record(catalog.device(name))
    if kind == "fabric":
        return catalogue.fabric_record(catalog.fabric(name))
    if kind == "profile":
        return catalogue.profile_record(catalog.profile(name), output.language)
    scenario = load_scenario(name, resolve_model=read_model)
    return catalogue.scenario_record(scenario, output.language)


def _term_record(name: str, output: Output) -> dict[str, Any]:
    from gpuflow.draw.terms import find_term, glossary, names_of
    from gpuflow.exporters.catalogue import term_record

    term = find_term(name)
    if term is None:
        near = nearest(name, [word for known in glossary().values() for word in names_of(known)])
        raise bad_option(
            "NAME",
            "unknown_term",
            hint="did_you_mean" if near else "list_terms",
            found=name,
            suggestion=near,
        )
    return term_record(term, output.language)
