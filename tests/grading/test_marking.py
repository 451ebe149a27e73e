"""A mark's note is whole sentences on one line, whatever an exception said."""

import pytest

from autograder.grading.marking import mark
from autograder.verdicts import Verdict


@pytest.mark.parametrize(
    ("what", "mend_first", "note"),
    [
        (
            "f stopped with NameError: name 'x' is not defined\nIn line 3 of its cell: `return x`",
            "softmax",
            "f stopped with NameError: name 'x' is not defined. In line 3 of its cell: `return x`. "
            "It calls softmax, which is not right yet.",
        ),
        ("f stopped with E: a  b\n\nIn line 3: `x`", "", "f stopped with E: a b. In line 3: `x`"),
        ("Why?\nSo.", "g", "Why? So. It calls g, which is not right yet."),
    ],
)
def test_sentences_end_before_the_next_begins(what, mend_first, note):
    verdict = Verdict("f", "F", "error", None, 0.0, what, mend_first=mend_first)
    assert mark(verdict, 2).note == note
