"""What is promised to be fast, measured: `make bench`.

Each `bench_*.py` has a `main()` that prints a small table.
"""
