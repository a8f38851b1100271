"""Hugging Face config.json: what a language model is made of, whatever its file calls it.

What a file leaves out is taken from its family's configuration class and listed as assumed; what
cannot be read is refused by name rather than read wrongly.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpuflow.cells import sanitise
from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.hf.attention import switch
from gpuflow.importers.hf.families import Family
from gpuflow.importers.hf.fields import Config, shown
from gpuflow.importers.hf.layers import layers_of
from gpuflow.importers.hf.quantisation import Quantisation, find_quantisation
from gpuflow.importers.hf.stored import name_hint, with_stored
from gpuflow.importers.hf.text_part import language_part
from gpuflow.importers.json_file import in_file_order, read_json
from gpuflow.scenario.model_spec import ModelSpec

PRECISIONS = {"bfloat16": "bf16", "float16": "fp16"}
_SIDE_FILE = "hf_quant_config.json"


def read_model(path: Path) -> ModelSpec:
    """The model that a config.json describes.

    Args:
        path: The file, or the folder that holds it. An `hf_quant_config.json` beside a file called
            config.json is read too.

    Raises:
        ImportFormatError: The file cannot be read, is of a form that cannot be read, or contradicts
            itself; every problem is named with its place.
    """
    file = path / "config.json" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise ImportFormatError([Problem(code="config_missing", file=str(path))])
    content = read_json(file)
    config, family = language_part(content)
    side = file.with_name(_SIDE_FILE)
    beside = read_json(side) if file.name == "config.json" and side.exists() else None
    quantisation = find_quantisation(config, beside)
    model = _model(config, family, quantisation, _title(path))
    problems = [*config.problems, *(beside.problems if beside else ())]
    if problems:
        raise ImportFormatError(in_file_order(problems))
    return model


def _title(path: Path) -> str:
    """What to call a model that has no name of its own: its folder, or the file's stem."""
    absolute = path.absolute()
    stem = absolute.parent.name if absolute.name == "config.json" else absolute.stem
    return sanitise(absolute.name if path.is_dir() else stem)


def _model(
    config: Config, family: Family, quantisation: Quantisation | None, title: str
) -> ModelSpec:
    hidden_size, vocab_size = config.whole("hidden_size"), config.whole("vocab_size")
    layers = layers_of(config, family, hidden_size)
    tied = _tied(config, family)
    precision = _precision(config, quantisation)
    _note_left_out(config)
    architecture = next(iter(family.architectures), "") or shown(config.get("model_type") or "")
    model = ModelSpec(
        name=config.file.source.file,
        title=title,
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        layers=layers,
        tied_embeddings=tied,
        precision=precision,
        extra_parameters=_extra(config, family, hidden_size, vocab_size),
        source=f"config.json ({architecture})",
    )
    if quantisation is not None:
        model = with_stored(model, quantisation, config)
    else:
        name_hint(config, title)
    return _with_assumed(model, config)


def _with_assumed(model: ModelSpec, config: Config) -> ModelSpec:
    return replace(model, assumed=tuple(config.assumed))


def _tied(config: Config, family: Family) -> bool:
    """The block's own word, else that of the file around it, else the class's."""
    said = config.said_around("tie_word_embeddings")
    if said is None:
        reason = "embeddings_tied" if family.tied else "embeddings_untied"
        config.assume("tie_word_embeddings", "true" if family.tied else "false", reason)
        return family.tied
    if not isinstance(said, bool):
        config.problem("config_not_switch", "tie_word_embeddings", found=shown(said))
    return said is True


def _precision(config: Config, quantisation: Quantisation | None) -> str:
    """`torch_dtype`, which newer files call `dtype`; of quantised weights what holds most."""
    key = "torch_dtype" if config.said_around("torch_dtype") is not None else "dtype"
    found = config.said_around(key)
    if quantisation is not None:
        return quantisation.precision
    if found is None:
        config.assume("torch_dtype", "bf16", "precision_absent")
        return "bf16"
    if found in ("float32", "torch.float32"):
        config.assume(key, "bf16", "precision_halved")
        return "bf16"
    if isinstance(found, str) and found.removeprefix("torch.") in PRECISIONS:
        return PRECISIONS[found.removeprefix("torch.")]
    config.problem(
        "config_dtype", key, "config_quantised", found=shown(found), allowed=list(PRECISIONS)
    )
    return "bf16"


def _extra(config: Config, family: Family, hidden_size: int, vocab_size: int) -> int:
    """Weights outside the layers beyond embedding, head and one norm vector."""
    vectors = family.final_norm_vectors - 1 + family.embedding_norm_vectors
    extra = vectors * hidden_size
    if switch(config, family.head_bias):
        extra += vocab_size
    if family.position_rows is not None:
        key, beyond = family.position_rows
        extra += (config.whole_or(key, 0, "positions_absent", least=0) + beyond) * hidden_size
    return extra


def _note_left_out(config: Config) -> None:
    """Layers that only guess ahead are no part of the counts, as in published totals."""
    for key in ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"):
        count = config.data.get(key)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            config.assume(key, count, "mtp_left_out")
            return
