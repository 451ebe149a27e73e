"""Text that can be read on a coloured ground."""


def text_on(red: float, green: float, blue: float) -> str:
    """White or black, whichever contrasts more with a colour; always at least 4.58 to 1.

    The channels go from 0 to 255. Contrast is meant as in the Web Content Accessibility
    Guidelines 2.2, from relative luminance (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
    """
    shown = luminance(red, green, blue)
    return "#fff" if 1.05 / (shown + 0.05) > (shown + 0.05) / 0.05 else "#000"


def luminance(red: float, green: float, blue: float) -> float:
    """Relative luminance of an sRGB colour (channels from 0 to 255): 0 for black, 1 for white."""
    parts = (channel / 255 for channel in (red, green, blue))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
