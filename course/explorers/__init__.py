"""Pictures that answer: one slider-driven view per file, and the parts they share."""
