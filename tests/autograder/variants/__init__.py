"""Correct implementations, written in as many ways as people write them. All must pass.

One module per lesson, each with VARIANTS: exercise name → the ways. Where no library is meant,
plain Python works on nested lists.
"""

import importlib
import pkgutil

from tests.autograder.variants.versions import Versions

VARIANTS: Versions = {}
for _module in pkgutil.iter_modules(__path__):
    if _module.name.startswith("lesson_"):
        VARIANTS |= importlib.import_module(f"{__name__}.{_module.name}").VARIANTS
