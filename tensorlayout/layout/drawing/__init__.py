"""Pictures of layouts as SVG and PNG, and as text. Imported at first use."""
