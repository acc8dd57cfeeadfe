"""Pictures of layouts, drawn once: as SVG, as PNG, and in the terminal. Imported at first use."""
