"""Each of the seven outcomes, and bad input of every kind, as sentences."""

import functools
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from autograder import exercises, judge
from autograder.exercises import UnknownExercise
from autograder.expecting import make_cases
from autograder.judging import DEFAULT_SEED
from autograder.rendering import to_html, to_text
from autograder.verdicts import OUTCOMES, Verdict
from course.attention import one_head


def right(scores: Any) -> Any:
    return one_head.softmax(scores)


def stub(scores: Any) -> Any:
    raise NotImplementedError


def half_written(scores: Any) -> Any:
    if scores.ndim > 2:
        raise NotImplementedError("later")
    return right(scores)


def changes_its_input(scores: Any) -> Any:
    result = right(scores)
    scores -= scores.max()
    return result


def calls_exit(scores: Any) -> Any:
    raise SystemExit(0)


def undefined_name(scores: Any) -> Any:
    return numpy.exp(scores)  # type: ignore[name-defined]  # noqa: F821


def closes_stdout(scores: Any) -> Any:
    sys.stdout.close()
    print("still here")
    return right(scores)


def yields(scores: Any) -> Any:
    yield right(scores)


async def is_async(scores: Any) -> Any:
    return right(scores)


class Softmax:
    def forward(self, scores: Any) -> Any:
        return right(scores)


class Hostile:
    """Whatever is asked of it but a call fails."""

    def __call__(self, scores: Any) -> Any:
        raise RuntimeError("called")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def misspelt(scores: Any) -> Any:
    return np.exp(score)  # type: ignore[name-defined]  # noqa: F821


def forgot_np(scores: Any) -> Any:
    return exp(scores)  # type: ignore[name-defined]  # noqa: F821


def pythons_sum(scores: Any) -> Any:
    return np.exp(scores) / sum(np.exp(scores), axis=-1)  # type: ignore[call-overload]


def torchs_words(scores: Any) -> Any:
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdim=True)


def calls_itself(scores: Any) -> Any:
    return calls_itself(scores)


def needs_scipy(scores: Any) -> Any:
    from scipy.special import no_such_softmax  # type: ignore[import-untyped]

    return no_such_softmax(scores)


def noisy(scores: Any) -> Any:
    print("<b>rows</b>", scores.shape)
    warnings.warn("careful", stacklevel=1)
    return right(scores)


COUNT = len(make_cases(exercises.find("softmax"), DEFAULT_SEED))

CASES: list[tuple[object, str, str | None, str]] = [
    (right, "correct", None, f"All {COUNT} cases hold"),
    (noisy, "correct", None, "cases hold"),
    (functools.partial(right), "correct", None, "cases hold"),
    (stub, "not attempted", None, "as the stub does"),
    (half_written, "error", None, "put code in its place"),
    (lambda scores: None, "wrong type", "returned-none", "end the function with a return line"),
    (lambda scores: right(scores).tolist(), "wrong type", None, "wrap it: np.array"),
    (lambda scores: "weights", "wrong type", None, "is a str"),
    (lambda scores: int, "wrong type", None, "is the class int"),
    (lambda scores: right(scores).astype(str), "wrong type", None, "dtype <U32"),
    (lambda scores: right(scores).astype(object), "wrong type", None, "dtype object"),
    (lambda scores: right(scores).astype(np.float16), "wrong type", None, "dtype float16"),
    (lambda scores: right(scores).astype(np.float32), "wrong type", None, "dtype float32"),
    (lambda scores: right(scores) > 0, "wrong type", None, "dtype bool"),
    (lambda scores: (right(scores), 1), "wrong type", None, "tuple of 2 items"),
    (lambda scores: 10**400, "wrong type", None, "more than 18 digits"),
    (lambda scores: np.broadcast_to(0.0, (3000, 3000)), "wrong type", None, "too many numbers"),
    (lambda scores: right(scores).sum(-1), "wrong shape", None, "0 axes instead of 1"),
    (lambda scores: right(scores)[..., :1], "wrong shape", None, "key axis has length 1"),
    (lambda scores: right(scores) * np.nan, "wrong values", "nan", "0/0"),
    (lambda scores: right(scores) * 2, "wrong values", None, "2 times the expected"),
    (lambda scores: right(scores) * 0, "wrong values", None, "all of yours are 0"),
    (lambda scores: right(scores) + 0.5, "wrong values", None, "plus 0.5"),
    (lambda scores: right(scores) + 1e-4, "wrong values", None, "nearly right"),
    (lambda scores: right(scores) * 1e308, "wrong values", None, "wrong"),
    (changes_its_input, "wrong values", "changed-input", "x.copy()"),
    (lambda scores: 1 / 0, "error", None, "ZeroDivisionError"),
    (undefined_name, "error", None, "the cell at the top that imports numpy"),
    (misspelt, "error", None, "what your function receives is scores"),
    (forgot_np, "error", None, "write np.exp."),
    (pythons_sum, "error", None, "Python's own sum()"),
    (torchs_words, "error", None, "NumPy says axis and keepdims"),
    (calls_itself, "error", None, "calls itself"),
    (needs_scipy, "error", None, "do without it"),
    (calls_exit, "error", None, "SystemExit"),
    (closes_stdout, "correct", None, "cases hold"),
    (yields, "wrong type", None, "yield where it should say return"),
    (is_async, "wrong type", None, "declared with async"),
    (lambda scores: {"weights": scores}, "wrong type", None, "is a dict"),
    (Softmax, "wrong type", "not-callable", "the class Softmax is a class"),
    (lambda a, b: a, "wrong type", "not-callable", "softmax(scores)"),
    (lambda a, b, c=3, *d, **e: a, "wrong type", "not-callable", "(a, b, c=…, *d, **e)"),
    (lambda: 3, "wrong type", "not-callable", "define it as `def softmax(scores):`"),
    (3, "wrong type", "not-callable", "without parentheses"),
    (None, "wrong type", "not-callable", "None"),
    (np.ones(3), "wrong type", "not-callable", "NumPy array of shape (3,)"),
    (Hostile(), "error", None, "RuntimeError"),
]


@pytest.mark.parametrize(
    ("implementation", "outcome", "mistake", "words"), CASES, ids=range(len(CASES))
)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_outcome(implementation: object, outcome: str, mistake: str | None, words: str) -> None:
    # A learner may have turned warnings and rounding into errors; that is not our business.
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        verdict = judge("softmax", implementation)
        shown = to_text(verdict), to_html(verdict)
    assert (verdict.outcome, verdict.mistake) == (outcome, mistake), verdict.message
    assert words in verdict.message
    assert verdict.outcome in OUTCOMES
    assert 0.0 <= verdict.score <= 1.0
    assert (verdict.score == 1.0) == (outcome == "correct")
    for text in shown:
        assert "Traceback" not in text
        assert "site-packages" not in text
        text.encode("utf-8")


@pytest.mark.parametrize("seed", [-1, None, 1.5, "a", [1, 2]])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ValueError, match="A seed is a whole number from 0 on"):
        judge("softmax", right, seed=seed)


def test_what_no_file_can_hold_is_replaced() -> None:
    def surrogates(scores: Any) -> Any:
        print("\ud800")
        raise ValueError("\udfff")

    verdict = judge("softmax", surrogates)
    to_html(verdict).encode("utf-8")
    to_text(verdict).encode("utf-8")


def test_something_kept_between_calls_is_found_with_any_seed() -> None:
    memo: dict[Any, Any] = {}

    def remembers(scores: Any) -> Any:
        return memo.setdefault(scores.shape, right(scores))

    assert judge("softmax", remembers).outcome == "wrong values"


def test_a_mistake_made_for_some_inputs_only_is_named() -> None:
    def transposes_squares(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
        w_q, w_k, w_v = (w.T if w.shape[0] == w.shape[1] else w for w in (w_q, w_k, w_v))
        return one_head.self_attention(x, w_q, w_k, w_v)

    assert judge("self_attention", transposes_squares).mistake == "projection-transposed"


def test_float32_for_float64_is_a_wrong_type_but_wider_is_fine() -> None:
    assert judge("softmax", lambda s: right(s).astype(np.float64)).correct
    assert judge("softmax", lambda s: right(s).astype(np.longdouble)).correct


def test_score_is_the_share_of_cases_that_hold() -> None:
    verdict = judge("softmax", lambda s: np.exp(s) / np.exp(s).sum(-1, keepdims=True))
    failing = [name for name, holds in verdict.cases if not holds]
    assert failing and verdict.score == pytest.approx(1 - len(failing) / len(verdict.cases))
    assert "scores in the thousands" in failing


def test_a_lying_object_is_judged_by_what_it_is() -> None:
    class Liar(np.ndarray):
        def __eq__(self, other: object) -> Any:
            return np.True_

        def __array__(self, *more: Any, **options: Any) -> Any:
            return right(np.asarray([0.0]))

    class Pretender:
        __class__ = np.ndarray  # type: ignore[assignment]
        shape = (3,)

    assert judge("softmax", lambda s: np.zeros_like(s).view(Liar)).outcome == "wrong values"
    assert judge("softmax", lambda s: Pretender()).outcome == "wrong type"


def test_an_exception_whose_words_fail_still_gets_a_verdict() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def function(scores: Any) -> Any:
        raise Unspeakable

    assert "Unspeakable" in judge("softmax", function).message


def test_the_line_of_the_learners_code_is_shown() -> None:
    def function(scores: Any) -> Any:
        return scores @ np.ones((17, 19))  # the culprit

    assert "# the culprit" in judge("softmax", function).message


def test_warnings_turned_into_errors_do_not_hurt() -> None:
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert judge("softmax", noisy).correct


def test_what_is_printed_is_shown_with_the_example() -> None:
    def prints(scores: Any) -> Any:
        print("shape here", scores.shape, "<script>")
        return scores

    page = to_html(judge("softmax", prints))
    assert "shape here (3,)" in page and "<script>" not in page


def test_endless_printing_is_cut() -> None:
    def chatter(scores: Any) -> Any:
        for _ in range(10_000):
            print("x" * 100)
        return scores

    verdict = judge("softmax", chatter)
    assert verdict.example is not None and len(verdict.example.printed) <= 2100
    assert verdict.example.printed.endswith("and more that is not shown here")


def test_unknown_names_say_what_comes_close() -> None:
    with pytest.raises(UnknownExercise, match=r"'softmx'.*'softmax'"):
        judge("softmx", right)


def test_pairs() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        return one_head.attention(q, k, v)

    assert judge("attention", attention).correct
    assert judge("attention", lambda q, k, v: list(attention(q, k, v))).correct
    nones = judge("attention", lambda q, k, v: (attention(q, k, v)[0], None))
    assert nones.mistake == "returned-none" and "array of weights is None" in nones.message
    only = judge("attention", lambda q, k, v: attention(q, k, v)[0])
    assert only.outcome == "wrong type" and only.mistake == "output-only"
    three = judge("attention", lambda q, k, v: (*attention(q, k, v), 3))
    assert three.outcome == "wrong type" and "return 2 things" in three.message
    none = judge("attention", lambda q, k, v: None)
    assert none.mistake == "returned-none"


def mend(source: str, name: str) -> Verdict:
    space: dict[str, Any] = {"np": np}
    exec(source, space)
    return judge(name, space[name])


RIGHT_SCORES = "def dot_product_scores(q, k): return q @ np.swapaxes(k, -1, -2)\n"
WRONG_SOFTMAX = (
    "def softmax(s):\n    e = np.exp(s - s.max(-1, keepdims=True))\n    return e / s.shape[-1]\n"
)
ATTENTION = (
    "def attention(q, k, v):\n"
    "    weights = softmax(dot_product_scores(q, k))\n    return weights @ v, weights\n"
)


def test_a_wrong_helper_is_to_be_mended_first() -> None:
    verdict = mend(RIGHT_SCORES + WRONG_SOFTMAX + ATTENTION, "attention")
    assert verdict.mend_first == "softmax"
    assert "Mend softmax first" in verdict.message


def test_a_method_that_bears_a_helpers_name_is_not_the_helper() -> None:
    method = (
        "class Mine:\n    @staticmethod\n    def softmax(s):\n"
        "        e = np.exp(s - s.max(-1, keepdims=True))\n"
        "        return e / e.sum(-1, keepdims=True)\n"
    )
    calling = ATTENTION.replace("softmax(", "Mine.softmax(").replace("weights @ v", "weights @ k")
    verdict = mend(RIGHT_SCORES + WRONG_SOFTMAX + method + calling, "attention")
    assert (verdict.mend_first, verdict.mistake) == ("", "keys-mixed")


STUB = "def dot_product_scores(q, k):\n    raise NotImplementedError()\n"


def test_a_helper_that_is_still_the_stub_is_to_be_mended_first() -> None:
    right_softmax = WRONG_SOFTMAX.replace("s.shape[-1]", "e.sum(-1, keepdims=True)")
    verdict = mend(STUB + right_softmax + ATTENTION, "attention")
    assert (verdict.outcome, verdict.mend_first) == ("error", "dot_product_scores")
    assert mend(STUB, "dot_product_scores").outcome == "not attempted"


def test_a_right_helper_is_not_blamed() -> None:
    broken = ATTENTION.replace("weights @ v", "weights @ k")
    right_softmax = WRONG_SOFTMAX.replace("s.shape[-1]", "e.sum(-1, keepdims=True)")
    verdict = mend(RIGHT_SCORES + right_softmax + broken, "attention")
    assert (verdict.mend_first, verdict.mistake) == ("", "keys-mixed")


def test_two_mistakes_at_once_still_get_the_name_of_one() -> None:
    def over_queries_and_overflowing(scores: Any) -> Any:
        axis = -2 if scores.ndim > 1 else -1
        e = np.exp(scores)
        return e / e.sum(axis=axis, keepdims=True)

    assert judge("softmax", over_queries_and_overflowing).mistake == "over-queries"


def test_what_torch_does_not_do_is_an_error_and_no_stub() -> None:
    def refused(scores: Any) -> Any:
        return torch.ones(scores.shape, device="meta").to("cpu")

    def unwritten(scores: Any) -> Any:
        raise NotImplementedError("Your code goes here.")

    verdict = judge("softmax", refused)
    assert verdict.outcome == "error", verdict.message
    assert judge("softmax", unwritten).outcome == "not attempted"
