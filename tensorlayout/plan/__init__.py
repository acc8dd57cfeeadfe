"""Plans: all that can be known of a call before its data is touched, made once and kept.

Above `tensor`, below both backends and `functions`, which import it.
"""
