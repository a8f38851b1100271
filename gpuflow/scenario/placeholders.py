"""Names that scenario texts may hold in braces; the engine knows the value of each.

Figures are written in their place, conditions say under which split the words behind them are true.
"""

from __future__ import annotations

FIGURES: tuple[str, ...] = (
    "model",
    "gpu",
    "scale_up",
    "scale_out",
    "gpus",
    "tp",
    "pp",
    "dp",
    "ep",
    "batch",
    "prompt",
    "output",
    "context",
    "model_layers",
    "stage_layers",
    "first_layers",
    "rest_layers",
    "hidden_size",
    "vocab_size",
    "experts",
    "experts_per_token",
    "message_size",
    "messages",
    "message_time",
    "bus_bandwidth",
    "message_total",
    "communication_time",
    "communication_share",
    "compute_time",
    "step_time",
    "time_at_200g",
    "hop_size",
    "hop_time",
    "kv_per_token",
    "kv_after_prefill",
    "kv_per_gpu",
    "weights_per_gpu",
    "free_per_gpu",
    "logits_size",
    "token_size",
    "ttft",
    "tpot",
    "tokens_per_s",
)

TEXT_CONDITIONS: dict[str, str] = {
    "tp": "a layer is split over several GPUs",
    "pp": "there are several pipeline stages",
    "dp": "there are several replicas",
    "experts": "the model has experts",
    "ep": "the experts are spread over several GPUs",
    "dispatched": "tokens travel to their experts by all_to_all",
    "first_experts": "the first layer has experts",
    "first_dispatched": "tokens of the first layer travel to their experts",
    "replica": "a replica has several GPUs",
    "many_gpus": "there are several GPUs at all",
    "decode": "more than one token is put out",
    "host": "the profile counts time on the host",
    "passes": "the batch goes through in several passes",
    "micro_batches": "the batch is cut into groups that follow each other",
    "overlap": "messages run beside computing",
    "traffic": "the step has messages",
    "one_message": "there is one of the step's heaviest messages",
    "tp_traffic": "the step's heaviest messages are those of tensor parallelism",
    "small": "the step's heaviest messages spend most of their time on fixed cost",
    "tp_in_node": "no tensor-parallel group crosses nodes",
    "one_first": "the first stage has a single layer",
    "kv_copies": "several GPUs keep the same heads of the KV cache",
}
"""What a text may ask: `{if_tp}` and `{unless_tp}` let the words behind them stand or go.

They hold to the end of the sentence, to the next condition, or to `{end}`; of several in a row
all must hold.
"""

MARKS: tuple[str, ...] = (
    *(f"if_{name}" for name in TEXT_CONDITIONS),
    *(f"unless_{name}" for name in TEXT_CONDITIONS),
    "end",
)

PLACEHOLDERS: tuple[str, ...] = (*FIGURES, *MARKS)
