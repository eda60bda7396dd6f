"""Text from a pull request, made harmless for where it is printed: one function a medium.

What a branch, a path or a title holds was chosen by whoever opened the pull request. The runner obeys lines of its
log, Markdown makes links, pictures and mentions of text, and terminals obey escape sequences.
"""

from __future__ import annotations

from claims.git import printable

#: Whatever means something in Markdown, in HTML, or to GitHub: mentions, issues, commits, emoji.
_MARKDOWN = frozenset("\\`*_{}[]()<>#+-.!|~&@:/=^$'\"")
#: `::name::` at the start of a line and `##[name]` anywhere in one begin a command for the runner.
_COMMANDS = (("::", ": :"), ("##[", "## ["))


def line(text: str, limit: int) -> str:
    """One line of a log or a terminal, without control or format characters, that is no command to the runner."""
    cut = shortened(printable(text, limit + 1), limit)
    for command, harmless in _COMMANDS:
        cut = cut.replace(command, harmless)
    return cut


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, which says where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 2]} …"


def command_data(text: str, limit: int) -> str:
    """The message of a workflow command. The runner turns `%0A` and its like back."""
    lines = (printable(one, limit + 1).replace("##[", "## [") for one in text.split("\n"))
    return shortened("\n".join(lines), limit).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str, limit: int) -> str:
    """The value of a workflow command's property, such as `file=`."""
    return command_data(printable(text, limit), limit).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str, limit: int) -> str:
    """Text in a paragraph, a list or a table's cell: every character that could mean something is a reference."""
    cut = shortened(printable(text, limit + 1), limit)
    # Autolinks (`www.`, a mail address) need no mark-up of theirs: the dot and the at sign are references too.
    return "".join(_reference(char) if char in _MARKDOWN else char for char in cut)


def _reference(char: str) -> str:
    """GitHub looks for mentions and issues once the text is HTML: an empty comment keeps the sign from its word."""
    return f"&#{ord(char)};<!-- -->" if char in "@#" else f"&#{ord(char)};"


def code(text: str, limit: int) -> str:
    """Text as code, in a table's cell too. `<code>`, because no fence of backticks keeps a `|` out of a cell."""
    return f"<code>{markdown(text, limit)}</code>" if text else ""
