"""Elements moved from one layout, or one dtype, into another: the ways to, and what they cost."""
