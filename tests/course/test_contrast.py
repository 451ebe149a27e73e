"""Text on coloured grounds can always be read."""

import itertools

from course.contrast import luminance, text_on


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_the_guidelines_own_numbers():
    # Grey #767676 is the lightest that may stand on white; pure red has 4.0 to 1 there.
    assert round(contrast(luminance(255, 255, 255), luminance(118, 118, 118)), 2) == 4.54
    assert round(contrast(luminance(255, 255, 255), luminance(255, 0, 0)), 2) == 4.0


def test_on_every_colour_the_text_has_contrast_enough():
    grounds = itertools.product(range(0, 256, 15), repeat=3)
    assert (
        min(
            contrast(luminance(*ground), 1.0 if text_on(*ground) == "#fff" else 0.0)
            for ground in grounds
        )
        >= 4.5
    )
