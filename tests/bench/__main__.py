"""Run every `bench_*.py` beside this file, or those named: `python -m tests.bench pictures`."""

import importlib
import pkgutil
import sys

from tests import bench


def main(names: list[str]) -> int:
    """Run the benchmarks; return 2 when a name is unknown."""
    found = [module.name for module in pkgutil.iter_modules(bench.__path__)]
    known = sorted(name for name in found if name.startswith("bench_"))
    chosen = [f"bench_{name}" for name in names] or known
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        print(f"Unknown: {', '.join(unknown)}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    for name in chosen:
        module = importlib.import_module(f"tests.bench.{name}")
        print(f"\n{(module.__doc__ or name).strip().splitlines()[0]}", flush=True)
        module.main()
    return 0


if __name__ == "__main__":
    names, sys.argv[1:] = sys.argv[1:], []  # a benchmark's own options are not meant here
    sys.exit(main(names))
