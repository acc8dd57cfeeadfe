"""What every kernel of the CUDA backend is built on: driver, memory, launches."""
