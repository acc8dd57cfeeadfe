"""Exchange of memory with other libraries: DLPack, CUDA's array interface, NumPy's arrays.

Below `functions`, which imports it.
"""
