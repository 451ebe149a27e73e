"""The reference implementation: what a learner ends up with, lesson by lesson."""
