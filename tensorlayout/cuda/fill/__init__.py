"""New tensors of values that nothing is read for, and what is written over and over."""
