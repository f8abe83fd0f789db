"""A very small SVG writer: rectangles, lines and text with classes, nothing that needs a font metric or a script."""

from __future__ import annotations

from html import escape

from ptxspec.report.palette import stylesheet

#: Width of one character of the drawings' 11-pixel monospace font, rounded up.
CHARACTER = 6.8


def number(value: float) -> str:
    """A coordinate without needless digits."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Collects shapes; ``width`` and ``height`` grow with them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.width = 0.0
        self.height = 0.0
        self._parts: list[str] = []

    def _grow(self, right: float, bottom: float) -> None:
        self.width, self.height = max(self.width, right), max(self.height, bottom)

    def rectangle(self, x: float, y: float, width: float, height: float, style: str, tip: str = "",
                  radius: float = 0) -> None:
        """A rectangle; ``tip`` shows when the pointer rests on it."""
        self._grow(x + width + 1, y + height + 1)
        round_ = f' rx="{number(radius)}"' if radius else ""
        inner = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self._parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
                           f'{round_} class="{style}"{inner}')

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        """Text centred on (x, y); class ``px-l`` starts it there, ``px-r`` ends it there."""
        size = len(text) * CHARACTER
        right = x + size if "px-l" in style else x if "px-r" in style else x + size / 2
        self._grow(right, y + 8)
        kind = f' class="{style}"' if style else ""
        self._parts.append(f'<text x="{number(x)}" y="{number(y)}"{kind}>{escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self._grow(max(x1, x2) + 1, max(y1, y2) + 1)
        self._parts.append(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
                           f'class="{style}"/>')

    def inline(self) -> str:
        """For a page that has the style sheet."""
        return self._svg("", "")

    def standalone(self) -> str:
        """A file of its own: style sheet and name space inside."""
        return self._svg(' xmlns="http://www.w3.org/2000/svg"', f"<style>{stylesheet()}</style>") + "\n"

    def notebook(self) -> str:
        """For a cell of a notebook: style sheet inside, no name space."""
        return self._svg("", f"<style>{stylesheet()}</style>")

    def _svg(self, space: str, style: str) -> str:
        width, height = number(self.width + 2), number(self.height + 2)
        inside = f"{style}<title>{escape(self.title)}</title>{''.join(self._parts)}"
        return (f'<svg{space} class="px" role="img" width="{width}" height="{height}" '
                f'viewBox="-1 -1 {width} {height}">{inside}</svg>')
