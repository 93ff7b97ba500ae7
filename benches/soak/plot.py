"""Plots of time series as SVG, without a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_WIDTH: Final = 360
_HEIGHT: Final = 140
_MARGIN: Final = 34
_COLUMNS: Final = 3


def render(series: Mapping[str, Sequence[tuple[float, float]]], *, steady_from: float) -> str:
    """Render one small plot for each series. Values begin at 0, and a line marks the start of the steady load."""
    rows = -(-len(series) // _COLUMNS)
    size = f'width="{_WIDTH * _COLUMNS}" height="{_HEIGHT * rows}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10">']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    for place, (name, samples) in enumerate(sorted(series.items())):
        left, top = place % _COLUMNS * _WIDTH, place // _COLUMNS * _HEIGHT
        parts.append(f'<g transform="translate({left},{top})">{_render_one(name, samples, steady_from)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _render_one(name: str, samples: Sequence[tuple[float, float]], steady_from: float) -> str:
    end = max(seconds for seconds, _ in samples) or 1
    top = max(value for _, value in samples) or 1
    wide, high = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN

    def x(seconds: float) -> float:
        return _MARGIN + wide * seconds / end

    points = " ".join(f"{x(seconds):.1f},{_MARGIN + high * (1 - value / top):.1f}" for seconds, value in samples)
    bottom = _MARGIN + high
    mark = f'<line x1="{x(min(steady_from, end)):.1f}" x2="{x(min(steady_from, end)):.1f}" y1="{_MARGIN}" y2="{bottom}"'
    return (
        f'<text x="{_MARGIN}" y="{_MARGIN - 10}" font-weight="bold">{escape(name)}</text>'
        f'<line x1="{_MARGIN}" x2="{_MARGIN + wide}" y1="{bottom}" y2="{bottom}" stroke="#888"/>'
        f'{mark} stroke="#bbb" stroke-dasharray="3"/>'
        f'<polyline fill="none" stroke="#1f6feb" stroke-width="1.2" points="{points}"/>'
        f'<text x="{_MARGIN - 4}" y="{_MARGIN + 4}" text-anchor="end">{top:,.0f}</text>'
        f'<text x="{_MARGIN - 4}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{_MARGIN + wide}" y="{bottom + 14}" text-anchor="end">{end / 60:.0f} min</text>'
    )
