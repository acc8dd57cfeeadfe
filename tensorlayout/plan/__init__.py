"""Plans: all that can be known of a call before its data is touched, made once and kept."""
