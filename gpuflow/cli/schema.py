"""`gpuflow schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

import json

from gpuflow.cli.output import Output


def schema(output: Output) -> None:
    """Print the schema."""
    from gpuflow.scenario.schema import json_schema

    output.write(json.dumps(json_schema(), indent=2))
