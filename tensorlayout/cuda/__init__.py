"""Tensors on NVIDIA GPUs: memory, kernels and launches behind one seam, the driver.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).
"""

from tensorlayout.cuda.warming import warmup

__all__ = ["warmup"]
