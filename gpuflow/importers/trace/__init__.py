"""Traces of PyTorch's profiler (Kineto): what ran on the GPU, what of it was communication."""
