"""Grading: from what students hand in to marks, with nbgrader.

nbgrader keeps the gradebook, restores locked cells, knows deadlines and writes feedback. This
package plugs into its lists: it reads what nbgrader cannot, runs notebooks in a process of
their own, judges outside of it, and keeps for every submission a record of what was found.
"""
