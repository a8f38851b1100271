"""gpuflow: how several GPUs answer one prompt, step by step and with true numbers."""

__version__ = "0.1.0"
