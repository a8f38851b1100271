"""The command line's way in; `gpuflow` and `python -m gpuflow` both come through here."""

from __future__ import annotations

import gc
import sys

_YOUNG_OBJECTS = 50_000
"""New objects after which garbage is looked for; Python's own number is for smaller programs."""

_INTERRUPTED = 130
"""As in `gpuflow.cli.failures`, which is not loaded yet where it is needed here."""


def main() -> int:
    """Run the command line on `sys.argv` and return the exit status."""
    arguments = sys.argv[1:]
    # What is loaded and worked out stays; looking for garbage among it takes a tenth of the start.
    gc.set_threshold(_YOUNG_OBJECTS)
    try:
        # Typer alone costs 0.1 s; a script that only asks for the version does not pay for it.
        if arguments == ["--version"]:
            from gpuflow.cli.version import write_version

            return write_version()
        from gpuflow.cli.app import run

        status = run(arguments)
    except KeyboardInterrupt:
        # While modules are loaded, nothing that could say more is there yet.
        return _INTERRUPTED
    # Nor is anything looked for at the end, where it takes 0.2 s between the key and the prompt.
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(main())
