"""Elements moved from one layout, or one dtype, into another."""
