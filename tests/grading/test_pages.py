"""Code on a page is coloured, and no code takes long to show."""

import re
import time

import pytest
from bs4 import BeautifulSoup

from autograder.grading.pages import HIGHLIGHT_LIMIT, code_to_html

SLOW = {
    "dots": "." * 99_000,
    "blank lines": "x = 1" + "\n" * 50_000 + "y = 2\n",
    "lines of spaces": " \n" * 50_000,
    "a keyword and spaces": "match" + " " * 50_000 + "x",
    "attributes": "a" + ".a" * 40_000,
    "cells": "x = 1\n" * 9_000,
}


def text_of(page: str) -> str:
    return BeautifulSoup(page, "html.parser").text


def test_code_is_coloured_and_says_what_it_said():
    first, second = code_to_html(
        ["def f(x):\n    return x < 1  # <b>\n", "%matplotlib inline\n!ls"]
    )
    assert text_of(first) == "def f(x):\n    return x < 1  # <b>\n"
    assert re.search(r"<span class=\"k\">def</span>", first)
    assert text_of(second).strip() == "%matplotlib inline\n!ls"


@pytest.mark.parametrize("kind", SLOW)
def test_no_code_takes_a_minute_and_all_of_it_is_shown(kind):
    start = time.process_time()
    (page,) = code_to_html([SLOW[kind]])
    assert text_of(page).strip() == SLOW[kind].strip()
    assert time.process_time() - start < 20  # a minute and more before; usual is a second


def test_a_page_has_one_measure_for_all_its_code():
    fits = "x = 1\n" * (HIGHLIGHT_LIMIT // 12)
    first, second, third, small = code_to_html([fits, fits, fits, "def"])
    assert "<span" in first
    assert "<span" in second
    assert "<span" not in third
    assert text_of(third) == fits
    assert text_of(small).strip() == "def"
