"""The user's own defaults: keys, theme, language, frame rate, signs and profile, in one file.

$GPUFLOW_CONFIG names it; otherwise it is gpuflow/config.yaml under $XDG_CONFIG_HOME or ~/.config.
What stands on the command line or in GPUFLOW_LANG comes before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuflow.scenario.spec import Language

VARIABLE = "GPUFLOW_CONFIG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the file says; None where it says nothing."""

    file: str = ""
    """Its path; empty where there is none."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the command's name."""
    theme: str | None = None
    lang: Language | None = None
    fps: float | None = None
    is_ascii: bool = False
    profile: str | None = None


def config_file(environ: Mapping[str, str]) -> Path | None:
    """Where the file is; None where there is none, or no home that could have one."""
    if VARIABLE in environ:
        return Path(environ[VARIABLE]) if environ[VARIABLE] else None
    folder = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME", "")
    if not folder and not home:
        return None
    path = (Path(folder) if folder else Path(home) / ".config") / "gpuflow" / "config.yaml"
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def read_config(environ: Mapping[str, str]) -> Config:
    """The user's defaults.

    Raises:
        InputError: There is a file, and something is wrong with it.
    """
    path = config_file(environ)
    if path is None:
        return Config()
    # Those without a file do without the reader.
    from gpuflow.cli.config_file import read_file

    return read_file(path, is_named=VARIABLE in environ)
