"""Fits the engine profiles to the project's tables of measurements.

    python tests/fits/fit_profiles.py [--write] [NAME ...]

Prints the constants of each profile with its errors on the rows it was fitted to and on the rows
it was not; with --write, puts them into gpuflow/data/profiles.yaml. Which rows are which is said in
gpuflow/engine/profile_fit.py. Takes about two minutes. Not collected by pytest.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import gpuflow
from gpuflow.engine.profile_fit import (
    PLANS,
    FitPlan,
    FittedProfile,
    Misses,
    fit_profile,
    judged,
)
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ProfileSpec

FILE = Path(gpuflow.__file__).parent / "data" / "profiles.yaml"
MARK = "# Fitted by tests/fits/fit_profiles.py from here on.\n"

TAKEN_OVER = (
    "memory_fraction from the Azure ND GB200 blog (HBM reaches 92 %) where it is not fitted; "
    "narrow_compute_share from the TensorRT-LLM 0.5 overview (FP8 prefill reaches 0.40 of the "
    "peak, FP16 0.64); attention fractions from Vidur profiles"
)
TABLES = {
    "serving": "measured serving rows of aiconfigurator-core 0.12",
    "gpt-fast": "gpt-fast README",
    "tensorrt-llm-0.5": "TensorRT-LLM v0.5 performance overview",
    "vllm-2024": "vLLM CI latency results, 2024",
    "fastertransformer": "FasterTransformer GPT guide",
}
NEAR_ZERO_S = 1e-6


def rounded(fitted: FittedProfile, plan: FitPlan) -> FittedProfile:
    """Constants to three digits, as the file has them, and the errors they make."""
    values = {}
    for constant in plan.constants:
        value = float(f"{getattr(fitted.profile, constant.field):.3g}")
        is_nothing = constant.field.endswith("_s") and value < NEAR_ZERO_S
        values[constant.field] = 0.0 if is_nothing else value
    values["request_s"] = float(f"{fitted.profile.request_s:.3g}")
    return judged(plan, replace(fitted.profile, **values))


def microseconds(value_s: float) -> str:
    return f"{1e6 * value_s:.4g} us"


def rows_of(plan: FitPlan) -> str:
    """Which rows were fitted on and which were not, in words."""
    table = f"{plan.table}.csv"
    if plan.gpu_left_out is not None:
        kept = f"{table}, TPOT (and TTFT for request) of {plan.profile} rows up to 64 requests"
        return f"{kept}, all GPUs but {plan.gpu_left_out}"
    gpus = f" on {', '.join(plan.gpus)}" if plan.gpus else ""
    return f"{table}, {plan.profile} rows of {', '.join(plan.models)}{gpus}"


def misses(found: Misses) -> str:
    return (
        f"{{rows: {found.rows}, mean_abs_error: {found.mean_abs_error:.3f},"
        f" worst_abs_error: {found.worst_abs_error:.3f}, bias: {found.bias:.3f}}}"
    )


def block(plan: FitPlan, fitted: FittedProfile) -> str:
    """One entry of the file."""
    p: ProfileSpec = fitted.profile
    table = TABLES.get(plan.profile, TABLES["serving"])
    lines = [
        f"{p.name}:",
        f"  title: {{zh: {p.title.zh}, en: {p.title.en}}}",
        f"  host_per_step: {microseconds(p.host_s_per_step)}",
        f"  layer_overhead: {microseconds(p.layer_overhead_s)}",
        f"  quantised_expert_overhead: {microseconds(p.quantised_expert_overhead_s)}",
        f"  compute_fraction: {p.compute_fraction:g}",
        f"  narrow_compute_share: {p.narrow_compute_share:g}",
        f"  memory_fraction: {p.memory_fraction:g}",
        f"  attention_compute_fraction: {p.attention_compute_fraction:g}",
        f"  attention_memory_fraction: {p.attention_memory_fraction:g}",
        f"  roofline_exponent: {p.roofline_exponent:g}",
        f"  expert_block_rows: {p.expert_block_rows}",
        f"  scores_in_16_bit: {str(p.scores_in_16_bit).lower()}",
        f"  cache_bits: {p.cache_bits}",
        f"  elementwise: {str(p.elementwise).lower()}",
        f"  collective_times: {p.collective_times}",
        f"  all_reduce_kernel: {p.all_reduce_kernel}",
        f"  all_reduce_launch: {p.all_reduce_launch}",
        f"  joins_prefill: {str(p.joins_prefill).lower()}",
        f"  chunk_tokens: {p.chunk_tokens}",
        f"  request: {1e3 * p.request_s:.3g} ms",
        "  fit:",
        f"    constants: [{', '.join(_keys(plan))}]",
        f"    rows: {rows_of(plan)}",
        f"    errors: {misses(fitted.fit)}",
        f"    other_rows: {misses(fitted.test)}",
        f"  source: fitted to {table}; {TAKEN_OVER}",
    ]
    return "\n".join(lines) + "\n"


def _keys(plan: FitPlan) -> list[str]:
    """The constants' names in the file."""
    names = {
        "host_s_per_step": "host_per_step",
        "layer_overhead_s": "layer_overhead",
        "quantised_expert_overhead_s": "quantised_expert_overhead",
    }
    keys = [names.get(constant.field, constant.field) for constant in plan.constants]
    keys += ["request"] if plan.table == "serving" else []
    keys += ["expert_block_rows"] if plan.blocks else []
    return [*keys, "all_reduce_kernel"] if plan.kernels else keys


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the engine profiles.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="profiles; all without any")
    parser.add_argument("--write", action="store_true", help="put them into profiles.yaml")
    options = parser.parse_args()
    blocks = []
    for plan in PLANS:
        if options.names and plan.profile not in options.names:
            blocks.append(block(plan, judged(plan, catalog.profile(plan.profile))))
            continue
        fitted = rounded(fit_profile(plan), plan)
        blocks.append(block(plan, fitted))
        print(blocks[-1], flush=True)
    if options.write:
        head = FILE.read_text("utf-8").split(MARK)[0]
        FILE.write_text(head + MARK + "\n" + "\n".join(blocks), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
