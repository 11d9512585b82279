"""Metric values and metadata as JSON: what is allowed, and how numbers that JSON lacks are spelled. Pure.

NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity" on disk and wire, and floats again when read; a
metric that is such a string is read as that float.
"""
from __future__ import annotations

import math
import operator
import re
from typing import Any, Dict, List, Mapping, Union

Scalar = Union[bool, int, float, str]

# What the controller takes in no name: controls, separators of lines, what turns the direction of writing, half characters.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
_SPELLINGS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_float(value: float) -> Union[float, str]:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def decode(value: Any) -> Any:
    """The reverse of `encode_metrics` and `encode_document`, at any depth."""
    if isinstance(value, str):
        return _SPELLINGS.get(value, value)
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        return {name: decode(item) for name, item in value.items()}
    return value


def encode_scalar(what: str, value: Any) -> Scalar:
    """A number, boolean or string as JSON holds it; anything with .item() (torch, numpy) is asked for it first.

    `what` names the value in errors. Errors: TypeError when it is none of these, or holds more than
    one number; ValueError when it is a whole number beyond every float, or a text with half
    characters, which the controller's reader of JSON does not take.
    """
    plain = value
    if not isinstance(value, (bool, int, float, str)) and callable(getattr(value, "item", None)):
        try:
            plain = value.item()
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"{what} is a {type(value).__name__} of several numbers; reduce it to one ({error})") from error
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int):
        return _within_floats(what, int(plain))
    if isinstance(plain, float):
        return encode_float(float(plain))
    if isinstance(plain, str):
        if _HALF_CHARACTERS.search(plain):
            raise ValueError(f"{what} is {ascii(plain)}, which has half characters")
        return str(plain)
    raise TypeError(f"{what} is a {type(value).__name__}; a metric is a number, a boolean or a string")


def _within_floats(what: str, value: int) -> int:
    try:
        float(value)
    except OverflowError:
        raise ValueError(f"{what} is a whole number of {value.bit_length()} bits; "
                         "numbers end at 1.8e308") from None
    return value


def is_number(encoded: Scalar) -> bool:
    """Whether an encoded value is a number, one that JSON lacks included; booleans are none."""
    if isinstance(encoded, str):
        return encoded in _SPELLINGS
    return not isinstance(encoded, bool)


def encode_metrics(group: str, metrics: Mapping[str, Any]) -> Dict[str, Scalar]:
    """Errors: TypeError or ValueError that names group and metric."""
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics of group {group!r} are a {type(metrics).__name__}; give a dict of name to number")
    encoded: Dict[str, Scalar] = {}
    for name, value in metrics.items():
        if not isinstance(name, str):
            raise TypeError(f"group {group!r} has a metric named {name!r}; names are strings")
        if not name:
            raise ValueError(f"group {group!r} has a metric without a name")
        if _CONTROLS.search(name):
            raise ValueError(f"group {group!r} has a metric named {name!r}; names have no control characters")
        encoded[name] = encode_scalar(f"metric {name!r} of group {group!r}", value)
    return encoded


def encode_nested_metrics(group: str, metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """As `encode_metrics`, where values may be dicts of such.

    Errors: TypeError or ValueError that names the place.
    """
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics of group {group!r} are a {type(metrics).__name__}; give a dict of name to number")
    encoded: Dict[str, Any] = encode_document(f"group {group!r}", metrics)
    return encoded


def encode_document(what: str, value: Any) -> Any:
    """Nested dicts, lists and tuples of scalars and None, as JSON holds them.

    Errors: TypeError or ValueError that names the place.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"{what} has a key {name!r}; keys are strings")
        return {name: encode_document(f"{what}[{name!r}]", item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        items: List[Any] = [encode_document(f"{what}[{index}]", item) for index, item in enumerate(value)]
        return items
    try:
        return encode_scalar(what, value)
    except TypeError:
        raise TypeError(f"{what} is a {type(value).__name__}, which JSON cannot hold") from None


def check_group(group: Any) -> str:
    """Errors: TypeError or ValueError unless it is a non-empty string without "." and control characters."""
    if not isinstance(group, str):
        raise TypeError(f"a metric group is a string, not {group!r}")
    if not group or "." in group:
        raise ValueError(f"metric group {group!r} must not be empty or contain '.'")
    if _CONTROLS.search(group):
        raise ValueError(f"metric group {group!r} must not have control characters")
    return group


def check_steps(steps_completed: Any) -> int:
    """Errors: TypeError or ValueError unless it is a whole number of 0 or more."""
    if isinstance(steps_completed, bool):
        raise TypeError(f"steps_completed is a whole number, not {steps_completed!r}")
    try:
        steps = operator.index(steps_completed)
    except TypeError:
        raise TypeError(f"steps_completed is a whole number, not {steps_completed!r}") from None
    if not 0 <= steps < 1 << 63:
        raise ValueError(f"steps_completed is {steps}; it counts from 0, in 63 bits")
    return steps
