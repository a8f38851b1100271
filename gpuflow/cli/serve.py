"""`gpuflow serve`: the player in browsers, on loopback unless told otherwise."""

from __future__ import annotations

import socket
from dataclasses import fields
from typing import Annotated, get_type_hints

import typer

from gpuflow.cli.kiosk import refuse_files
from gpuflow.cli.options import Request, StageLayers, bad_option, whole
from gpuflow.cli.output import Output
from gpuflow.cli.screens import FpsOption, SpeedOption, ThemeOption
from gpuflow.errors import MissingExtra

EXTRA = "serve"
LOOPBACK = "127.0.0.1"
PORT = 8000
_HIGHEST_PORT = 65535

HostOption = Annotated[str | None, typer.Option("--host", metavar="ADDRESS")]
PortOption = Annotated[
    int | None, typer.Option("--port", parser=whole("--port", 1, _HIGHEST_PORT), metavar="N")
]
LoopOption = Annotated[bool, typer.Option("--loop")]


def serve(
    output: Output,
    request: Request,
    host: HostOption = None,
    port: PortOption = None,
    theme: ThemeOption = None,
    speed: SpeedOption = None,
    fps: FpsOption = None,
    loop: LoopOption = False,
) -> int:
    """Serve until interrupted."""
    from gpuflow.cli.request import scenario_of

    refuse_files(request)
    for option in ("launch", "topo", "calibration"):
        if getattr(request, option) is not None:
            raise bad_option(f"--{option}", "serve_no_files")
    scenario_of(request)  # a mistake is said here, not to the first visitor
    try:
        from gpuflow.tui.serving import PlayerServer
    except ImportError:
        raise MissingExtra(EXTRA) from None

    options = {"--theme": theme, "--speed": speed, "--fps": fps, "--lang": output.language}
    arguments = ["play", "--kiosk", *arguments_of(request)]
    arguments += [part for name, value in options.items() if value for part in (name, str(value))]
    arguments += ["--loop"] * loop + ["--no-color"] * output.no_color
    address, number = host or LOOPBACK, port or PORT
    _refuse_taken(address, number)
    output.say("serve.there", address=_in_url(address), port=number)
    if address != LOOPBACK:
        output.say("serve.open")
    PlayerServer(arguments, address, number).serve()
    return 0


def arguments_of(request: Request) -> list[str]:
    """The command line that means the same scenario and changes."""
    hints = get_type_hints(Request, include_extras=True)
    found = [] if request.scenario is None else [request.scenario]
    for field in fields(request):
        value = getattr(request, field.name)
        if value is None or field.name == "scenario":
            continue
        (declared,) = hints[field.name].__metadata__
        # Under Annotated, typer keeps the first name where a default would stand.
        name = declared.default
        if isinstance(value, bool):
            found.append(name.partition("/")[0] if value else name.partition("/")[2])
        elif isinstance(value, StageLayers):
            found += [name, ",".join(map(str, value.counts))]
        else:
            found += [name, str(value)]
    return found


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _refuse_taken(host: str, port: int) -> None:
    """An address that cannot be listened on is said before anything else is."""
    option = "--host"
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = places[0]
        option = "--port"
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise bad_option(option, "serve_address", host=host, port=port, reason=reason) from None
