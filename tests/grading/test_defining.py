"""What cells define, and which functions are not all there yet at a place of a notebook."""

import pytest

from autograder.grading.defining import completed_later, defines, names_in

DEFINING = [
    "def f(x): return x",
    "async def f(x): return x",
    "class f: pass",
    "f = 1",
    "f: int = 1",
    "f, g = 1, 2",
    "(f := 1)",
    "[f := x for x in (1, 2)]",
    "import f",
    "import a.b as f",
    "from a import b as f",
    "if True:\n    def f(x): return x",
    "try:\n    f = 1\nexcept ValueError:\n    pass",
    "with a as f: pass",
    "for f in a: pass",
    "def g():\n    global f\n    f = 1",
    "%matplotlib inline\ndef f(x): return x",
    "x = !ls\nf = 1\nf?",
    "%%time\ndef f(x): return x",
    "await g()\nf = 1",
    "def f(x): return x\nthis is no Python",
]
NOT_DEFINING = [
    "",
    "f(3)",
    "# def f(x): return x",
    "'''\ndef f(x): return x\n'''",
    "def g():\n    f = 1",
    "class A:\n    f = 1",
    "g.f = 1",
    "def g(f): return f",
    "%%bash\nf=1",
    "%%writefile f.py\nf = 1",
    "def ff(x): return x",
]


@pytest.mark.parametrize("source", DEFINING)
def test_a_definition_is_seen(source):
    assert defines(source, "f")


@pytest.mark.parametrize("source", NOT_DEFINING)
def test_what_is_none_is_none(source):
    assert not defines(source, "f")


@pytest.mark.parametrize(
    ("source", "looked_up"),
    [
        ("def f(x):\n    y = a(x)\n    return b + y", {"a", "b"}),
        ("class F(a):\n    x = b\n    def m(self): return self.x + c", {"a", "b", "c"}),
        ("f = lambda x: x + a", {"a"}),
        ("def f(x): return [a(y) for y in x]", {"a"}),
        ("def f(x, y=a) -> b: return x", {"a", "b"}),
        ("@a\ndef f(x): return x", {"a"}),
    ],
)
def test_names_of_its_own_are_not_looked_up(source, looked_up):
    assert names_in(source).looked_up == looked_up


F = "def f(x): return g(x)"
G = "def g(x): return h.i(x) + x"
IN_ORDER = ["import h", G, F, None]


@pytest.mark.parametrize(
    "later",
    [
        F,
        G,
        "h = 3",
        "import another as h",
        "class A: pass\nh.i = A",
        "setattr(h, 'i', A)",
        "del g",
        "f.x[3].y = 1",
        "@method_of(h)\ndef i(x): return x",
        "exec('def f(x): return x')",
        "globals()['f'] = 1",
        "from own import *",
        "%run own.py",
        "%pylab",
        "if True:\n    g = 1",
        "%%time\ndef g(x): return x",
        "def g(x) return x  # not valid, so it may be anything",
        "from own import *\nthis is no Python",
        "%run own.py\nthis is no Python",
    ],
)
def test_what_changes_a_function_or_what_it_calls_completes_it(later):
    assert completed_later([*IN_ORDER, later], [("f", 3)]) == ["f"]


@pytest.mark.parametrize(
    "later",
    [
        "",
        None,
        "f(3)",
        "x = f(3)",
        "import h",
        "import numpy",
        "def another(x): return f(g(h(x)))",
        "def another(f, g, h): return f",
        "print('def f(x): return x')",
        "%timeit f(3)",
        "!ls",
        "another.f = 1",
    ],
)
def test_other_cells_do_not(later):
    assert completed_later([*IN_ORDER, later], [("f", 3)]) == []


def test_a_helper_counts_wherever_the_one_that_calls_it_is():
    cells = [None, F, None, G, "h = 3"]
    assert completed_later(cells, [("f", 0), ("f", 2), ("g", 2), ("other", 4)]) == [
        "f",
        "f",
        "g",
        "other",
    ]
    assert completed_later(cells, [("f", 5), ("g", 5)]) == []
