"""The functions of the namespace, one file per chapter of the standard."""
