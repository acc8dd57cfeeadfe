"""Infrastructure: imports, forks, light dataclasses, context blocks, interning, kernel sources.

Anything may import it; it imports no other module of the package.
"""
