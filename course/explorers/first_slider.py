"""Lesson 00: a first slider. Two words, one weight, and the average that follows it."""

import numpy as np

from course.attention.one_head import weighted_average
from course.explorers.accessibility import slider
from course.explorers.canvas import Canvas, Plane
from course.explorers.panel import Panel, row
from course.explorers.words import pair, signed

WORDS = ("cat", "street")
VECTORS = np.array([[2.0, 1.0], [-1.0, -2.0]])  # (2, 2): a row for each word


def explore_first_slider() -> Panel:
    """Blend the vectors of two words: α of "cat" and 1 − α of "street"."""
    alpha = slider("α", 0.0, 1.0, value=0.5, step=0.05, name="α, the weight of cat")
    canvas = Canvas(
        [
            Plane(
                "blend",
                WORDS,
                title="A weighted average of two words",
                alt="Two words as dots, larger with their weight, and a diamond for their mix, "
                "which stays on the line between them.",
                mark="mix",
                side=320,
            )
        ]
    )
    panel = Panel([row(alpha), canvas])

    def blend() -> None:
        weights = np.array([alpha.value, 1 - alpha.value])  # (2,)
        mix = weighted_average(VECTORS.T, weights)  # (2, 2), (2,) → (2,)
        canvas.show(
            {
                "blend.points": VECTORS,
                "blend.sizes": weights,
                "blend.outline": VECTORS,
                "blend.mark": mix,
            }
        )
        parts = " + ".join(
            f"{signed(weight, 2)} × {word} {pair(vector)}"
            for weight, word, vector in zip(weights, WORDS, VECTORS, strict=True)
        )
        panel.say(f"{parts} = {pair(mix, 2)}.")

    follow = panel.guarded(blend)
    alpha.observe(lambda _: follow(), "value")
    follow()
    return panel
