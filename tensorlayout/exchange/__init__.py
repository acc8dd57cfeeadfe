"""Memory of and for other libraries: DLPack, CUDA's array interface, NumPy's arrays."""
