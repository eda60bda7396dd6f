"""Patterns: which are refused, what they cover, what two have in common; protected and reserved paths."""

from __future__ import annotations

import pytest

from claims.board import globs
from claims.board.authority import PROTECTED, Authority, Pattern, is_protected, is_reserved, parse_pattern


def authority(*patterns: str) -> Authority:
    return Authority(tuple(map(parse_pattern, patterns)))


def patterns(*texts: str) -> tuple[Pattern, ...]:
    return tuple(map(parse_pattern, texts))


# What is refused, words of the message, and the twin that is read.
REFUSED = {
    "leading slash": ("/src", "starts with /", "src"),
    "negation": ("!src", "starts with !", "src!"),
    "dot": ("./src", "a segment '.'", "x/src"),
    "dot within": ("src/./x", "a segment '.'", "src/.x/x"),
    "parent": ("src/../x", "a segment '..'", "src/..x/x"),
    "empty segment": ("src//x", "a segment ''", "src/x"),
    "two slashes at the end": ("src//", "a segment ''", "src/"),
    "backslash": ("src\\x", "backslash", "src/x"),
    "control character": ("src/\nx", "control", "src/x"),
    "delete": ("src/\x7f", "control", "src/x"),
    "C1 control character": ("src/\x9b", "control or format", "src/é"),
    "zero-width blank": ("src/a\u200bb", "control or format", "src/ab"),
    "right-to-left override": ("src/\u202egnp.x", "control or format", "src/png.x"),
    "line separator": ("src/a\u2028b", "control or format", "src/a b"),
    "surrogate": ("src/\udcff", "control or format", "src/ÿ"),
    "blank in front": (" src", "blank at an end", "src"),
    "blank at the end": ("src ", "blank at an end", "src"),
    "blank at a segment's end": ("src /x", "blank at an end", "s rc/x"),
    "blank at a segment's start": ("src/ x", "blank at an end", "src/x x"),
    "no-break space at an end": ("src\u00a0/x", "blank at an end", "s\u00a0rc/x"),
    "dot at the end": ("src.", "ends with a dot", "src.x"),
    "dot at a segment's end": ("src./x", "ends with a dot", "src.x/x"),
    "not NFC": ("src/e\u0301", "not NFC", "src/\u00e9"),
    "** within a segment": ("src/**x", "** within a segment", "src/*x"),
    "** at a segment's end": ("src/x**/y", "** within a segment", "src/x*/y"),
    "three asterisks": ("src/***", "** within a segment", "src/**"),
    "nothing": ("", "no character besides", "x"),
    "everything": ("**", "no character besides", "x**/y".replace("**", "*")),
    "everything below": ("*/**", "no character besides", "x/**"),
    "every extension": ("*.*", "no character besides", "*.py"),
    "question marks": ("?/", "no character besides", "?x/"),
}


@pytest.mark.parametrize(("text", "words", "twin"), REFUSED.values(), ids=REFUSED)
def test_refuses_patterns(text: str, words: str, twin: str) -> None:
    with pytest.raises(ValueError, match="the pattern") as caught:
        parse_pattern(text)
    assert words in str(caught.value)
    assert parse_pattern(twin).text == twin


# Pattern, what it covers, what it does not.
COVERS: dict[str, tuple[list[str], list[str]]] = {
    "src/auth/login.py": (
        ["src/auth/login.py"],
        ["src/auth/login.pyc", "src/auth", "x/src/auth/login.py", "SRC/auth/login.py", "src/auth/login.py/x"],
    ),
    "src/auth/": (
        ["src/auth/x", "src/auth/x/y", "src/auth/.x", "src/auth/.x/.y"],
        ["src/auth", "src/authx", "src/auth2/x", "x/src/auth/y", "Src/auth/x"],
    ),
    "src/auth/**": (["src/auth/x", "src/auth/x/y", "src/auth/.x"], ["src/auth", "src/authx/y"]),
    "*.py": (["a.py", ".py", ".x.py"], ["a/b.py", "a.pyc", "a.PY"]),
    "src/*/x": (["src/a/x", "src/.a/x"], ["src/x", "src/a/b/x"]),
    "src/*x*": (["src/x", "src/axb", "src/xx"], ["src/ab", "src/a/x", "src/x/y"]),
    "src/a*": (["src/a", "src/ab"], ["src/b", "src/ba"]),
    "a?c": (["abc", "a.c", "aéc", "a?c", "a*c"], ["ac", "abbc", "a/c"]),
    "src/**/test_*.py": (
        ["src/test_a.py", "src/x/test_a.py", "src/x/.y/test_.py"],
        ["src/test_a", "test_a.py", "src/x/atest_a.py", "src/test_/a.py"],
    ),
    "**/x.md": (["x.md", "a/x.md", "a/b/x.md"], ["ax.md", "a/x.md/b"]),
    "a/**/b/**/c": (["a/b/c", "a/x/b/y/z/c", "a/b/b/c/c"], ["a/c", "a/b", "b/c", "a/c/b"]),
    "a/**/**/b": (["a/b", "a/x/b", "a/x/y/b"], ["b", "a/xb"]),
    "a/**/**": (["a/b", "a/b/c"], ["a", "ab"]),
    "a/**/": (["a/b", "a/b/c"], ["a", "ab"]),
    "**/src/": (["src/x", "a/src/x"], ["src", "a/src"]),
    "app/[id]/page.tsx": (["app/[id]/page.tsx"], ["app/i/page.tsx", "app/id/page.tsx"]),
    "{a,b}.c": (["{a,b}.c"], ["a.c", "b.c"]),
    "a+(b).$^|c": (["a+(b).$^|c"], ["aab.c"]),
    "docs/é/*.md": (["docs/é/ü.md"], ["docs/e\u0301/ü.md", "docs/e/x.md"]),
}


@pytest.mark.parametrize(("text", "covered", "other"), [(text, *paths) for text, paths in COVERS.items()], ids=COVERS)
def test_covers(text: str, covered: list[str], other: list[str]) -> None:
    pattern = parse_pattern(text)
    assert [path for path in covered if not pattern.covers(path.encode())] == []
    assert [path for path in other if pattern.covers(path.encode())] == []
    assert [path for path in covered if not authority("zzz", text, "yyy/").covers(path.encode())] == []
    assert [path for path in other if authority("zzz", text, "yyy/").covers(path.encode())] == []


def test_bytes_that_are_not_utf8_are_one_character_each() -> None:
    assert parse_pattern("src/").covers(b"src/\xff")
    assert parse_pattern("x?").covers(b"x\xff")
    assert parse_pattern("x?").covers("xé".encode())
    assert not parse_pattern("x?").covers(b"x\xff\xfe")
    assert not parse_pattern("xé").covers("xé".encode("latin-1"))


@pytest.mark.parametrize("path", [b"src/../x", b"src/./x", b"src//x", b"src/", b"src/..", b"src/x/"])
def test_what_no_tree_may_hold_is_in_no_pattern(path: bytes) -> None:
    assert not authority("src/", "src/**/x", "src/?", "src/??").covers(path)


def test_a_file_named_like_a_pattern() -> None:
    assert authority("src/*x").covers(b"src/*x")
    assert authority("src/*x").covers(b"src/yx")
    assert not authority("src/x").covers(b"src/*")
    assert not authority("src/").covers(b"*/x")
    assert not authority("src/*y").covers(b"*y/x")


def test_names_exactly_means_bytes() -> None:
    named = authority(".github/workflows/ci.yml", "src/", "docs/é")
    assert named.names_exactly(b".github/workflows/ci.yml")
    assert named.names_exactly("docs/é".encode())
    assert not named.names_exactly(b".github/workflows/CI.yml")
    assert not named.names_exactly(b"src/x")
    assert not named.names_exactly(b"src")


@pytest.mark.parametrize(
    ("text", "granted"),
    [(".github/workflows/ci.yml", True), ("**/*.yml", False), (".github/", False), (".GitHub/workflows/ci.yml", False)],
)
def test_a_protected_path_is_granted_by_name_alone(text: str, granted: bool) -> None:
    assert authority(text).grants(b".github/workflows/ci.yml") is granted


def test_configuration_adds_to_what_is_protected() -> None:
    deploy = patterns("deploy/")
    assert authority("deploy/").grants(b"deploy/x")
    assert not authority("deploy/").grants(b"deploy/x", deploy)
    assert authority("deploy/x").grants(b"deploy/x", deploy)
    assert not authority(".github/").grants(b".github/x", deploy)


def test_nothing_grants_what_is_reserved() -> None:
    assert not authority(".agents/x").grants(b".agents/x")
    assert not authority(".Agents/x").grants(b".Agents/x")
    assert authority("agents/x").grants(b"agents/x")


PROTECTED_PATHS = [
    b".github/x", b".github/workflows/ci.yml", b".GitHub/x", b".GITHUB/WORKFLOWS/X", b".github", b"CODEOWNERS",
    b"codeowners", b"docs/CODEOWNERS", b"Docs/Codeowners", b".gitmodules", b".GITMODULES", b".gitattributes",
    b"a/b/.gitattributes", b"a/.GitAttributes",
]  # fmt: skip
OTHER_PATHS = [
    b"github/x", b"x/.github/y", b".github2/x", b"src/CODEOWNERS", b"docs/x/CODEOWNERS", b"x/.gitmodules",
    b"x.gitattributes", b".gitattributes/x", b".gitignore", b"", b".githu\xff",
]  # fmt: skip


def test_the_five_defaults_are_protected() -> None:
    assert len(PROTECTED) == 5
    assert [path for path in PROTECTED_PATHS if not is_protected(path)] == []
    assert [path for path in OTHER_PATHS if is_protected(path)] == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("deploy/", b"deploy/x"),
        ("deploy/", b"Deploy/X/y"),
        ("deploy/", b"deploy"),
        ("Deploy/**", b"deploy"),
        ("deploy/**/**", b"deploy"),
        ("*.LOCK", b"a.lock"),
        ("stra\u00dfe", b"STRASSE"),
        ("x?", "x\u00df".encode()),
        ("x?", "X\u00df".encode()[:1].lower() + "\u00df".encode()),
    ],
)
def test_extra_patterns_protect_in_any_case(text: str, path: bytes) -> None:
    assert is_protected(path, patterns(text))
    assert not is_protected(path)
    assert not is_protected(path + b"_", patterns("other/"))


@pytest.mark.parametrize("path", [b".agents/x", b".agents", b".Agents/tasks/x", b".AGENTS", b".agents/"])
def test_reserved(path: bytes) -> None:
    assert is_reserved(path)
    assert not is_reserved(b"x" + path)
    assert not is_reserved(path[:3] + b"_" + path[3:])


# Two patterns, and whether a path matches both.
MEETINGS = [
    ("src/a.py", "src/a.py", True),
    ("src/a.py", "src/b.py", False),
    ("src/", "src/a.py", True),
    ("src/", "src", False),
    ("src/", "src/**", True),
    ("src/a/", "src/b/", False),
    ("src/", "src/b/c/", True),
    ("*.py", "a*", True),
    ("*.py", "a.c", False),
    ("*.py", "src/*.py", False),
    ("**/*.py", "src/", True),
    ("**/*.py", "src/*.md", False),
    ("a*b", "*c", False),
    ("a*b", "*c*", True),
    ("a*b*c", "ab?bc", True),
    ("a?", "a??", False),
    ("a?", "a*", True),
    ("a/**/b", "a/*/*/b", True),
    ("a/**/b", "c/**/b", False),
    ("**/a/**/b", "b/**/a", False),
    ("**/a/**", "b/**/c", True),
    ("a/**/b/**/c", "a/*/c", True),
    ("a/**/b/**/c", "a/x/c", False),
    ("a/*", "a/**", True),
    ("a/*", "a/*/", False),
    # Only `.` or `..` would match both, and neither is a name.
    ("a/.*", "a/?", False),
    ("a/.*", "a/??", True),
    ("a/..*", "a/??", False),
    ("a/..*", "a/???", True),
    ("a/*.*", "a/?", False),
    ("a/*.*", "a/??", True),
    ("a/?.*", "a/.?", False),
    ("a/?.*", "a/.??", True),
    ("a/.*", "a/.*", True),
    ("a/.*/b", "a/?/b", False),
    ("a/.*/**", "a/?/b", False),
]


@pytest.mark.parametrize(("left", "right", "meet"), MEETINGS)
def test_can_meet(left: str, right: str, meet: bool) -> None:
    one, two = parse_pattern(left), parse_pattern(right)
    others = patterns("zz/y", "zz/*z")
    assert Authority((one,)).can_meet(Authority((*others, two))) == ([(one, two)] if meet else [])
    assert Authority((two, *others)).can_meet(Authority((one,))) == ([(two, one)] if meet else [])


def test_can_meet_lists_every_pair_in_order() -> None:
    left, right = patterns("src/", "docs/x"), patterns("docs/", "src/a", "**/x")
    assert Authority(left).can_meet(Authority(right)) == [
        (left[0], right[1]),
        (left[0], right[2]),
        (left[1], right[0]),
        (left[1], right[2]),
    ]


# Backtracking over these would take longer than the universe is old.
HOSTILE = ["*a" * 2000 + "b", "**/a/" * 1500 + "b", "?*" * 2000 + "b", "a/" + "*/" * 3000 + "b", ".*" * 2000 + "b"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_patterns_end(text: str) -> None:
    hostile = authority(text)
    for path in (b"a" * 4000, b"a/" * 2000 + b"a", b"." * 4000):
        assert not hostile.covers(path)
    assert hostile.can_meet(authority(*HOSTILE[:2]))
    assert hostile.can_meet(authority(text)) == [(hostile.patterns[0], hostile.patterns[0])]


def test_what_was_remembered_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(globs, "_REMEMBERED", 2)
    small = authority("a/*.py", "b/")
    for number in range(9):
        assert small.covers(f"a/{number}.py".encode())
        assert small.covers(f"b/{number}/x".encode())
        assert not small.covers(f"{number}/a.py".encode())


def test_equal_authorities_are_equal() -> None:
    used, fresh = authority("a", "b/"), authority("a", "b/")
    used.covers(b"a")
    assert used == fresh
    assert used != authority("b/", "a")
