"""The Many Heads course: lessons, the reference attention, and the views they use."""
