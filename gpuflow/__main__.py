"""The command line's way in; `gpuflow` and `python -m gpuflow` both come through here."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line on `sys.argv` and return the exit status."""
    arguments = sys.argv[1:]
    # Typer alone costs 0.1 s; a script that only asks for the version does not pay for it.
    if arguments == ["--version"]:
        from gpuflow.cli.version import write_version

        return write_version()
    from gpuflow.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
