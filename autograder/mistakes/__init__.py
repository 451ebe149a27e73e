"""Wrong implementations that people really write, one module per lesson.

Each module has MISTAKES: exercise name → tuple of `Mistake`. Several entries may share an
id where the same mistake is written in ways that fail differently. They are loaded only
where judging happens, never beside student code.
"""
