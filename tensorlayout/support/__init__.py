"""What the package is built with: lazy imports, light dataclasses, blocks, interning, sources.

Anything may import it; it imports nothing of the package.
"""
