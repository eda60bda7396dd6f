"""Plain tables: aligned columns, the first to the left, the others to the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> None:
    """Print a table, with a line below it where there is something to say."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    print(f"\n{title}\n")
    for number, line in enumerate(lines):
        print(
            "  ".join(
                _cell(text, width, column) for column, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )
        if number == 0:
            print("  ".join("-" * width for width in widths))
    if note:
        print(f"\n{note}")
    print(flush=True)


def ms(milliseconds: float) -> str:
    return f"{milliseconds:.1f}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}×"


def percent(ratio: float) -> str:
    """How much more than one, as in `+12 %`."""
    return f"{(ratio - 1) * 100:+.0f} %"


def _cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 0 else text.rjust(width)
