"""Arrays of other libraries: NumPy's protocols, Dask's and autoray's registrations.

Above `functions`, whose functions NumPy's call. Imported by the package; each library's part when
that library is imported too.
"""
