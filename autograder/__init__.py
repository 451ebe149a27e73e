"""Checks that name your mistake, and marks that nobody can forge.

    from autograder import check, judge, hint, progress

The names are resolved on first use: what runs beside student code imports parts of this
package, and must not bring the judging side with it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.checking import check, hint, progress
    from autograder.judging import judge

__all__ = ["check", "hint", "judge", "progress"]


def __getattr__(name: str) -> Any:
    if name == "judge":
        from autograder.judging import judge

        return judge
    if name in __all__:
        from autograder import checking

        return getattr(checking, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
