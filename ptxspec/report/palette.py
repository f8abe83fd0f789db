"""Colours of the drawings, as CSS classes with a light and a dark value, and the one style sheet that defines them.

Threads take one of 32 colours by lane (eight hues, four depths); warps differ in their place and label. No colour is
ever the only carrier of a fact: every cell is labelled as well.
"""

from __future__ import annotations

from colorsys import hls_to_rgb
from functools import lru_cache

LANES = 32
_HUES = (210, 35, 130, 280, 0, 175, 60, 325)


def lane_class(thread: int) -> str:
    """The class of the colour of a thread, by its lane."""
    return f"px-t{thread % LANES}"


def _hex(hue: float, lightness: float, saturation: float) -> str:
    r, g, b = hls_to_rgb(hue / 360, lightness, saturation)
    return f"#{round(r * 255):02x}{round(g * 255):02x}{round(b * 255):02x}"


@lru_cache(maxsize=1)
def stylesheet() -> str:
    """CSS rules for SVG drawings; dark values apply where the reader prefers dark."""
    light, dark = [], []
    for lane in range(LANES):
        hue, depth = _HUES[lane % 8], lane // 8
        light.append(f".px-t{lane}{{fill:{_hex(hue, 0.90 - 0.055 * depth, 0.75)}}}")
        dark.append(f".px-t{lane}{{fill:{_hex(hue, 0.19 + 0.05 * depth, 0.45)}}}")
    base = (
        ".px{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;display:block}"
        ".px text{fill:#1b1f24;dominant-baseline:central;text-anchor:middle}"
        ".px .px-l{text-anchor:start}.px .px-r{text-anchor:end}"
        ".px .px-dim{fill:#656d76}.px .px-small{font-size:9px}"
        ".px-cell{stroke:#fff;stroke-width:1}.px-plain{fill:#eef1f4}.px-alt{fill:#dfe5ea}.px-hole{fill:#fafbfc;"
        "stroke:#d0d7de;stroke-dasharray:2 2}"
        ".px-bad{fill:#ffcecb;stroke:#cf222e;stroke-width:2}.px-badline{fill:none;stroke:#cf222e;stroke-width:2.5}"
        ".px .px-badtext{fill:#a40e26;font-weight:bold}"
        ".px-atom2{stroke:#57606a;stroke-width:1}.px-off{fill:none;stroke:#8c959f;stroke-width:1;"
        "stroke-dasharray:3 2}.px-edge{stroke:#8c959f;stroke-width:1.5}"
        ".px-moved{stroke:#cf222e;stroke-width:2}.px-same{opacity:.45}"
        ".px-c1{fill:#dafbe1}.px-c2{fill:#fff1c2}.px-c4{fill:#ffd8a8}.px-c8{fill:#ffb3ad}"
    )
    night = (
        ".px text{fill:#e6edf3}.px .px-dim{fill:#9198a1}.px-cell{stroke:#0d1117}.px-plain{fill:#1c2128}"
        ".px-alt{fill:#262c36}.px-hole{fill:#0d1117;stroke:#30363d}.px-bad{fill:#67060c;stroke:#ff7b72}"
        ".px-badline{stroke:#ff7b72}.px .px-badtext{fill:#ffa198}.px-atom2{stroke:#9198a1}.px-off{stroke:#656d76}"
        ".px-edge{stroke:#656d76}.px-moved{stroke:#ff7b72}"
        ".px-c1{fill:#12361f}.px-c2{fill:#453600}.px-c4{fill:#5a3000}.px-c8{fill:#67060c}"
    )
    return f"{base}{''.join(light)}@media(prefers-color-scheme:dark){{{night}{''.join(dark)}}}"
