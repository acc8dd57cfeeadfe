"""The functions of the namespace, one file per chapter of the standard.

Above `exchange` and `plan`; `fft`, `linalg`, and all that calls functions may import it.
"""
