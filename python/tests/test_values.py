"""Values as JSON."""
import math

import pytest

from muster.core import values


class OneNumber:
    def __init__(self, value):
        self.value = value

    def item(self):
        if self.value is None:
            raise ValueError("only one element tensors can be converted")
        return self.value


def test_numbers_that_json_lacks_come_back():
    encoded = values.encode_metrics("training", {"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1.5})
    assert encoded == {"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": 1.5}
    back = values.decode(encoded)
    assert math.isnan(back["a"]) and (back["b"], back["c"], back["d"]) == (math.inf, -math.inf, 1.5)


def test_scalars_of_other_libraries_are_converted():
    given = {"a": OneNumber(2.0), "b": OneNumber(True), "c": OneNumber(math.nan), "d": "text"}
    encoded = values.encode_metrics("training", given)
    assert encoded == {"a": 2.0, "b": True, "c": "NaN", "d": "text"} and encoded["b"] is True


def test_scalars_of_numpy_and_torch():
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    given = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": numpy.float64(math.inf), "d": torch.tensor(2.5),
             "e": numpy.bool_(True)}
    encoded = values.encode_metrics("training", given)
    assert encoded == {"a": 0.5, "b": 3, "c": "Infinity", "d": 2.5, "e": True}
    assert [type(value) for value in encoded.values()] == [float, int, str, float, bool]
    with pytest.raises(TypeError, match="metric 'x' of group 'g' is a Tensor of several numbers"):
        values.encode_metrics("g", {"x": torch.zeros(2)})


@pytest.mark.parametrize("value", [[1.0], {"a": 1}, None, 1j, b"x", OneNumber([1]), OneNumber(None)])
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(TypeError, match="metric 'loss' of group 'validation' is a"):
        values.encode_metrics("validation", {"loss": value})


def test_a_number_beyond_every_float_and_half_a_character_are_refused_by_name():
    large = {"a": 2 ** 1023, "b": -2 ** 70}
    assert values.encode_metrics("training", large) == large
    for value in (10 ** 400, -10 ** 400, OneNumber(10 ** 400), "\udc80"):
        with pytest.raises(ValueError, match="metric 'loss' of group 'validation' is "):
            values.encode_metrics("validation", {"loss": value})
    with pytest.raises(ValueError, match=r"metadata\['a'\]\[0\] is a whole number of 1329 bits"):
        values.encode_document("metadata", {"a": [10 ** 400]})


def test_what_is_a_number():
    for value in (0, 1.5, math.nan, -math.inf, OneNumber(2)):
        assert values.is_number(values.encode_scalar("a", value))
    for value in (True, "one", OneNumber(False)):
        assert not values.is_number(values.encode_scalar("a", value))


def test_names_groups_and_steps():
    with pytest.raises(TypeError, match="named 3"):
        values.encode_metrics("training", {3: 1.0})
    with pytest.raises(TypeError, match="give a dict"):
        values.encode_metrics("training", [1.0])
    for name in ("", "lo\nss", "\x1b[31m", "a\u202eb", "\udc80"):
        with pytest.raises(ValueError, match="has a metric"):
            values.encode_metrics("training", {name: 1.0})
    for group, error in (("a.b", ValueError), ("", ValueError), ("a\tb", ValueError), (3, TypeError)):
        with pytest.raises(error, match="group"):
            values.check_group(group)
    assert values.check_steps(OneIndex()) == 7
    for steps, error in ((-1, ValueError), (True, TypeError), (1.0, TypeError), ("1", TypeError)):
        with pytest.raises(error, match="steps_completed"):
            values.check_steps(steps)


class OneIndex:
    def __index__(self):
        return 7


def test_documents_name_the_place_of_what_they_cannot_hold():
    document = {"best": math.inf, "list": [1, (2, None)]}
    encoded = values.encode_document("metadata", document)
    assert encoded == {"best": "Infinity", "list": [1, [2, None]]}
    assert values.decode(encoded)["best"] == math.inf
    with pytest.raises(TypeError, match=r"metadata\['a'\]\[1\] is a set, which JSON cannot hold"):
        values.encode_document("metadata", {"a": [1, {2}]})
    with pytest.raises(TypeError, match="key 1"):
        values.encode_document("metadata", {1: 2})
