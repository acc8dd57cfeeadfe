"""What NumPy's callers expect: its names, signatures and rules, made of our functions.

One function is both a method of `Tensor` and what NumPy's function of that name calls.
"""
