"""Numbers as they stand in a sentence."""

from collections.abc import Iterable


def signed(number: float, decimals: int) -> str:
    """A number with a real minus sign, and none before a zero: −1.3, 0.0, 2.1."""
    text = f"{number:.{decimals}f}"
    if text.startswith("-"):
        return "−" + text[1:] if text.strip("-0.") else text[1:]
    return text


def pair(numbers: Iterable[float], decimals: int = 1) -> str:
    """A vector in parentheses: (0.4, −1.1)."""
    return "(" + ", ".join(signed(float(number), decimals) for number in numbers) + ")"
