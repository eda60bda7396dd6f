"""Names that no path should have: on some system another file has them, or nobody sees what they are.

Windows, macOS and git each take more than one name for one file, and a checkout on one of them would write elsewhere
than the path says. Paths are git's: bytes, with `/` between names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from claims.board.authority import PROTECTED, Pattern

_WINDOWS_NAMES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?", re.IGNORECASE)
_WINDOWS_CHARACTERS = frozenset('<>:"|?*')
_GIT_NAMES = re.compile(r"(\.git|git~[0-9]+)[ .]*(:.*)?", re.IGNORECASE)
#: How Windows shortens the names of files that git obeys, as git's `is_ntfs_dot_generic` has it.
_SHORT_NAMES = ("gitmod", "gitatt", "gitign", "mailma", "gi7eba", "gi7d29", "gi250a", "maba30")
_SHORTENED = re.compile(r"([a-z0-9]{0,6})~[1-9][0-9]*", re.IGNORECASE)
#: A name that Windows gave: the beginning of one, or two characters and four digits of its sum; a number; a suffix.
_GIVEN = re.compile(r"(?P<stem>[^.~]{1,6})~[1-9][0-9]{0,5}(?:\.(?P<suffix>[^.]{1,3}))?")
_SUMMED = re.compile(r"..[0-9a-f]{4}")
#: What such names may hold besides letters and digits.
_SHORT_ENOUGH = re.compile(r"[a-z0-9!#$%&'()@^_`{}~-]{1,8}(\.[a-z0-9!#$%&'()@^_`{}~-]{1,3})?")
#: Letters and marks that are not seen either: fillers, joiners, a blank Braille cell, rarer variation selectors.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: A variation selector tells an emoji from a sign. Of ASCII only digits, `#` and `*` are ever part of one.
_SELECTORS = re.compile("[\ufe00-\ufe0f]")
_SELECTS_NOTHING = re.compile('(?:^|[\x00-"$-)+-/:-\x7f\ufe00-\ufe0f])([\ufe00-\ufe0f])')
#: Bytes of a path's component beyond which file systems refuse it.
_LONGEST = 255


def objection(path: bytes, protected: Sequence[Pattern] = ()) -> str | None:
    """What is wrong with a path by itself, or None. `protected` is `gate.protected` of the configuration."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return "the path is not UTF-8"
    if not text.isascii() and unicodedata.normalize("NFC", text) != text:
        return "the path is not in Unicode's composed form (NFC)"
    unseen = _unseen_in(text)
    if unseen is not None:
        return f"the path has the character U+{ord(unseen):04X}, which is not seen"
    if "\\" in text:
        return "the path has a backslash"
    short = shortened(tuple(pattern.text for pattern in protected)) if "~" in text else frozenset()
    return next((wrong for part in text.split("/") if (wrong := _objection_to_name(part, short)) is not None), None)


def folded(name: bytes) -> str:
    """A name as file systems compare it that fold case and Unicode forms; what is not seen in it counts for nothing."""
    text = unicodedata.normalize("NFD", name.decode("utf-8", "surrogateescape"))
    # By upper case, as Windows and ZFS fold it, a dotless i is an I; by `casefold` alone it is not.
    return _SELECTORS.sub("", unicodedata.normalize("NFD", text.upper().casefold()))


@lru_cache(maxsize=8)
def shortened(protected: tuple[str, ...] = ()) -> frozenset[tuple[str, str]]:
    """What Windows shortens names of protected and reserved paths to: the characters before `~1`, and the suffix."""
    names = (name for text in (".agents", *PROTECTED, *protected) for name in text.split("/"))
    return frozenset(_shortened(name.casefold()) for name in names if name and not set("*?") & set(name))


def _shortened(name: str) -> tuple[str, str]:
    """What comes before `~1`, and the suffix; both empty for a name that is short enough to be left as it is."""
    if _SHORT_ENOUGH.fullmatch(name):
        return "", ""
    kept = re.sub(r"[+,;=\[\]]", "_", name.lstrip(".").replace(" ", ""))
    stem, dot, suffix = kept.rpartition(".")
    return ((stem if dot else suffix).replace(".", "")[:6], suffix[:3] if dot else "")


# Two thousand files may lie equally deep, below a thousand folders.
@lru_cache(maxsize=8192)
def _objection_to_name(name: str, short: frozenset[tuple[str, str]]) -> str | None:
    if name in ("", ".", ".."):
        return f"{name!r} is no name"
    if len(name.encode("utf-8")) > _LONGEST:
        return f"a name of more than {_LONGEST} bytes"
    if _GIT_NAMES.fullmatch(name) or _is_short_name(name):
        return f"git reserves the name {name!r}"
    if _WINDOWS_NAMES.fullmatch(name) or name.endswith((" ", ".")) or _WINDOWS_CHARACTERS & set(name):
        return f"Windows cannot hold the name {name!r}"
    if name != name.strip():
        return f"the name {name!r} has a blank at an end, which is not seen"
    if any(_may_be_for(name.casefold(), stem, suffix) for stem, suffix in short):
        return f"to Windows the name {name!r} may be that of a protected file or folder"
    return None


def _unseen_in(text: str) -> str | None:
    if text.isascii() and text.isprintable():
        return None
    for char in text:
        if unicodedata.category(char) in _UNSEEN or char in _FILLERS or "\U000e0100" <= char <= "\U000e01ef":
            return char
    selector = _SELECTS_NOTHING.search(text)
    return selector[1] if selector is not None else None


def _is_short_name(name: str) -> bool:
    match = _SHORTENED.fullmatch(name)
    return match is not None and len(name) == 8 and any(one.startswith(match[1].lower()) for one in _SHORT_NAMES)


def _may_be_for(name: str, stem: str, suffix: str) -> bool:
    """Whether Windows may have given `name` to a file whose name it shortens to `stem` and `suffix`."""
    match = _GIVEN.fullmatch(name)
    if match is None or not stem or (match["suffix"] or "") != suffix:
        return False
    given, length = match["stem"], len(name.partition(".")[0])
    if length != 8:
        return length < 8 and given == stem
    # A larger number leaves less of the name.
    return stem.startswith(given) or (given[:2] == stem[:2] and _SUMMED.fullmatch(given) is not None)
