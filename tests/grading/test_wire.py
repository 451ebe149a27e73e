"""Plain data travels unchanged, and whatever else arrives is refused with one kind of error."""

import contextlib
import math
import random
import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from autograder import exercises
from autograder.comparing import difference
from autograder.declaring import Case, Observation, Observations, Problem, Value
from autograder.expecting import expected_observations, make_cases
from autograder.packing import pack_case, pack_observations, unpack_case, unpack_observations
from autograder.wire import DTYPES, HEADER, TORCH_DTYPES, WireError, decode, encode, receive

arrays = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: npst.arrays(np.dtype(name), npst.array_shapes(min_dims=0, max_dims=4, max_side=4))
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.complex_numbers(allow_nan=False)
)
trees = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@given(trees)
def test_plain_data_arrives_as_it_was_sent(tree):
    assert same(decode(encode({"tree": tree}))["tree"], tree)


@given(
    npst.arrays(np.float32, npst.array_shapes(min_dims=1, max_dims=5, max_side=3)),
    st.randoms(use_true_random=False),
)
def test_the_layout_of_permuted_arrays_is_kept(array, chance):
    axes = list(range(array.ndim))
    chance.shuffle(axes)
    permuted = array.transpose(axes)
    arrived = decode(encode({"a": permuted}))["a"]
    assert arrived.tobytes() == permuted.tobytes()
    if 1 not in array.shape:  # the stride of an axis of length 1 means nothing
        assert arrived.strides == permuted.strides
    assert arrived.flags.writeable


@pytest.mark.parametrize("name", sorted(TORCH_DTYPES))
def test_tensors_arrive_with_dtype_and_layout(name):
    dtype = getattr(torch, name)
    tensor = (torch.arange(24).reshape(2, 3, 4) % 7).to(dtype).permute(2, 0, 1)
    arrived = decode(encode({"t": tensor, "d": dtype}))
    assert arrived["d"] is dtype
    assert arrived["t"].dtype is dtype
    assert arrived["t"].stride() == tensor.stride()
    assert torch.equal(arrived["t"], tensor)


def test_a_tensor_that_wants_its_gradient_still_does():
    arrived = decode(encode({"t": torch.ones(2, requires_grad=True), "s": torch.tensor(3.0)}))
    assert arrived["t"].requires_grad
    assert arrived["s"].shape == ()


def test_every_case_of_every_exercise_arrives():
    for exercise in exercises.iterate():
        for case in make_cases(exercise, seed=3):
            arrived = unpack_case(decode(encode(pack_case(case))))
            assert arrived.name == case.name
            for name, value in case.arguments.items():
                there = arrived.arguments[name]
                tensors = isinstance(value, torch.Tensor)
                assert torch.equal(there, value) if tensors else same(there, value)


def test_observations_of_every_exercise_arrive_and_still_hold():
    for exercise in exercises.iterate():
        expected = expected_observations(exercise, 3)
        arrived = unpack_observations(decode(encode(pack_observations(expected))))
        for case in make_cases(exercise, 3):
            there = arrived.by_case[case.name]
            assert difference(exercise, case, expected.by_case[case.name], there) is None


@pytest.mark.parametrize("thing", [object(), {1}, {1: 2}, np.array(["a"]), np.array([None]), len])
def test_what_is_not_plain_is_not_sent(thing):
    with pytest.raises(WireError):
        encode({"thing": thing})


def packed(value: Value, **more) -> dict:
    return pack_observations(Observations({"a case": Observation({"part": value}, **more)}))


@pytest.mark.parametrize(
    "value",
    [
        Value("number", 10**5000, "int"),
        Value("number", -(10**5000), "int"),
        Value("array", np.ones(3, np.longdouble), np.dtype(np.longdouble).name),
        Value("array", np.ones(3, ">f8"), "float64"),
        Value("text", "x" * 10**6),
        Value("tensor", np.zeros((3000, 3000)), "float64", description="a tensor"),
        Value("text", "\ud800"),
    ],
    ids=["huge", "very negative", "long double", "big-endian", "long text", "large", "surrogate"],
)
def test_odd_values_travel_in_some_form(value):
    unpack_observations(decode(encode(packed(value))))


def test_a_value_too_large_to_send_is_described():
    value = Value("array", np.zeros((3000, 3000)), "float64", description="a big one")
    arrived = unpack_observations(decode(encode(packed(value))))
    assert arrived.by_case["a case"].values["part"].kind == "other"
    assert "too large" in arrived.by_case["a case"].values["part"].description


def test_problems_arrive():
    problem = Problem("ValueError", "no", ("Exception",), "g", "f", "x = 1", 3)
    arrived = unpack_observations(decode(encode(packed(Value("none"), problem=problem))))
    assert arrived.by_case["a case"].problem == problem


GOOD = encode({"array": np.arange(6.0).reshape(2, 3), "text": "…", "more": [1, (2.5, None)]})


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_harmless(at, byte):
    changed = bytearray(GOOD)
    changed[at] = byte
    with contextlib.suppress(WireError):
        decode(bytes(changed))


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(WireError):
        decode(noise)


def message(text: bytes, data: bytes = b"") -> bytes:
    return HEADER.pack(b"MHw1", len(text), len(data)) + text + data


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"null",
        b'{"a":["pickle","x"]}',
        b'{"a":[["nested"]]}',
        b'{"a":NaN}',
        b'{"a":["array","object",[1],[0],[0,8]]}',
        b'{"a":["array","float64",[2],[0],[0,8]]}',
        b'{"a":["array","float64",[1],[0],[8,8]]}',
        b'{"a":["array","float64",[1],[1],[0,8]]}',
        b'{"a":["array","float64",[-1],[0],[0,8]]}',
        b'{"a":["array","float64",[1.0],[0],[0,8]]}',
        b'{"a":["array","float64",[true],[0],[0,8]]}',
        b'{"a":["array","float64","1",[0],[0,8]]}',
        b'{"a":["array"]}',
        b'{"a":["tensor","float64",[1],[0],[0,8]]}',
        b'{"a":["torch dtype","load"]}',
        b'{"a":["torch dtype",["x"]]}',
        b'{"a":["float","1e5"]}',
        b'{"a":["int","0x' + b"f" * 5000 + b'"]}',
        b'{"a":["complex","a","b"]}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b'["list",' * 60 + b"1" + b"]" * 60 + b"}",
        b'{"a":' + b"[" * 100_000 + b"}",
    ],
)
def test_malformed_messages_are_refused(text):
    with pytest.raises(WireError):
        decode(message(text, struct.pack("<d", 1.0)))


def test_too_much_is_refused_before_it_is_read():
    with pytest.raises(WireError):
        receive(lambda count: HEADER.pack(b"MHw1", 2**31, 0)[:count])


def test_a_torn_message_is_refused_and_a_closed_connection_is_not():
    pieces = [GOOD[:5], GOOD[5:40], b""]
    with pytest.raises(WireError):
        receive(lambda count: pieces.pop(0))
    assert receive(lambda count: b"") is None


WELL_FORMED = pack_observations(
    Observations({"c": Observation({"p": Value("array", np.ones(2), "float64")})})
)


def _mutations(tree, chance):
    """One random place of a tree replaced by something of another type."""
    if isinstance(tree, dict) and tree and chance.random() < 0.8:
        key = chance.choice(sorted(tree))
        return {**tree, key: _mutations(tree[key], chance)}
    return chance.choice([None, 1, 1.5, "x", [], {}, [1], {"a": 1}, np.ones(1), True])


@given(st.integers())
def test_observations_of_the_wrong_form_are_refused(seed):
    changed = _mutations(WELL_FORMED, random.Random(seed))
    try:
        arrived = unpack_observations(decode(encode({"o": changed}))["o"])
    except WireError:
        return
    assert isinstance(arrived, Observations)
    exercise = exercises.find("softmax")
    case = Case("c", "", {})
    expected = Observation({"p": Value("array", np.ones(2), "float64")})
    for seen in arrived.by_case.values():  # judging what got through never fails
        difference(exercise, case, expected, seen)


@pytest.mark.parametrize(
    "value",
    [
        Value("array", None, "float64"),
        Value("array", np.ones(1), "no such dtype"),
        Value("tensor", np.ones(1), "x" * 100),
        Value("number", "1"),
        Value("text", 1),
        Value("none", 1),
        Value("pickle", None),
    ],
)
def test_values_that_are_not_what_they_say_are_refused(value):
    with pytest.raises(WireError):
        unpack_observations(decode(encode(packed(value))))
