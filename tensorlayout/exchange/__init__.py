"""Memory of and for other libraries: DLPack, CUDA's array interface, NumPy's arrays.

Below `functions`, which imports it; it knows no function.
"""
