"""The colours of aspects: seen on their ground, and told apart with every kind of colour vision."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from dmrank.support.arrays import Floats

STYLES = files("dmrank.service").joinpath("page", "base.css").read_text(encoding="utf-8")
#: Linear RGB as seen without one kind of cones (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [
        [0.3673, 0.8606, -0.2280],
        [0.2801, 0.6725, 0.0474],
        [-0.0118, 0.0429, 0.9689],
    ],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
#: Distances in OKLab; 0.02 is about what can just be seen.
APART = {"usual": 0.1, "protanopia": 0.07, "deuteranopia": 0.07, "tritanopia": 0.06}


def _theme(name: str) -> dict[str, Floats]:
    start = STYLES.index("prefers-color-scheme: dark")
    text = STYLES[start:] if name == "dark" else STYLES[:start]
    return {name: _linear(code) for name, code in re.findall(r"--([\w-]+): (#\w{6});", text)}


def _linear(code: str) -> Floats:
    encoded = np.array([int(code[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _contrast(one: Floats, other: Floats) -> float:
    light = sorted(float(color @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def _oklab(color: Floats) -> Floats:
    to_cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    to_lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return to_lab @ np.cbrt(to_cones @ np.clip(color, 0, 1))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_aspects_are_seen_on_the_ground(theme: str) -> None:
    colours = _theme(theme)
    faint = {
        name: _contrast(colour, colours["ground"])
        for name, colour in colours.items()
        if name.startswith("part-") and _contrast(colour, colours["ground"]) < 3
    }
    assert len(colours) > 15
    assert faint == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_aspects_are_told_apart(theme: str, vision: str) -> None:
    parts = {name: colour for name, colour in _theme(theme).items() if name.startswith("part-")}
    assert len(parts) == 9
    seen = {name: _oklab(np.asarray(VISION[vision]) @ colour) for name, colour in parts.items()}
    distances = {
        pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(seen, 2)
    }
    assert {pair: far for pair, far in distances.items() if far < APART[vision]} == {}
