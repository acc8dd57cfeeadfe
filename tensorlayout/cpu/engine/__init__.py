"""What every plan on the CPU is built on: memory, threads, conversions."""
