"""The one door to git: what a git process is told, how it ends, and what is read through it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from claims.errors import Undecided
from claims.git import (
    ANY_END,
    Completed,
    Git,
    ObjectInfo,
    Objects,
    ProcessTimedOut,
    open_repository,
    printable,
    read_config,
    top_level,
)
from claims.names import LIVE, ObjectId
from tests.support.repo import Repo, clone, init, origin

LINUX = hasattr(fcntl, "F_SETPIPE_SZ")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {"a": "one\n", "dir/b": "two"})


@pytest.fixture
def git(repo: Repo) -> Git:
    return Git(repo.path, os.environ)


@pytest.fixture
def objects(git: Git) -> Iterator[Objects]:
    with git.objects() as objects:
        yield objects


def stub(folder: Path, script: str) -> dict[str, str]:
    """An environment in which `git` is this shell script."""
    (folder / "bin").mkdir()
    path = folder / "bin" / "git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {**os.environ, "PATH": f"{path.parent}{os.pathsep}{os.environ['PATH']}"}


def code_of(git: Git, *args: str) -> str:
    with pytest.raises(Undecided) as caught:
        git.run(*args)
    return caught.value.code


# What it is told.

ENVIRONMENT = {
    "HOME": "/home/x",
    "PATH_OF_MINE": "kept",
    "LC_ALL": "de_DE.UTF-8",
    "LANGUAGE": "de",
    "LC_MESSAGES": "de_DE.UTF-8",
    "GIT_DIR": "/elsewhere",
    "GIT_WORK_TREE": "/elsewhere",
    "GIT_INDEX_FILE": "/elsewhere",
    "GIT_OBJECT_DIRECTORY": "/elsewhere",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/elsewhere",
    "GIT_COMMON_DIR": "/elsewhere",
    "GIT_NAMESPACE": "x",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG": "/elsewhere",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.bare",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
    "GIT_CONFIG_GLOBAL": "/home/x/sealed",
    "GIT_CONFIG_SYSTEM": "/home/x/system",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EXTERNAL_DIFF": "x",
    "GIT_TRACE": "1",
    "GIT_TRACE2_EVENT": "/tmp/x",
    "GIT_QUARANTINE_PATH": "x",
    "GIT_PUSH_OPTION_COUNT": "1",
    "GIT_PROTOCOL": "version=0",
    "GIT_ALLOW_PROTOCOL": "ext",
    "GIT_EXEC_PATH": "/elsewhere",
    "GIT_TEMPLATE_DIR": "/elsewhere",
    "GIT_REPLACE_REF_BASE": "refs/x/",
    "GIT_TERMINAL_PROMPT": "1",
    "GIT_NO_REPLACE_OBJECTS": "",
    "GIT_OPTIONAL_LOCKS": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_AUTHOR_DATE": "x",
    "GIT_SSH": "ssh",
    "GIT_SSH_COMMAND": "ssh -v",
    "GIT_SSH_VARIANT": "ssh",
    "GIT_ASKPASS": "ask",
    "GIT_SSL_NO_VERIFY": "1",
    "GIT_SSL_CAINFO": "ca",
    "GIT_PROXY_COMMAND": "proxy",
    "GIT_PROXY_SSL_KEY": "key",
    "https_proxy": "http://h",
}
LET_THROUGH = {
    "GIT_SSH": "ssh",
    "GIT_SSH_COMMAND": "ssh -v",
    "GIT_SSH_VARIANT": "ssh",
    "GIT_ASKPASS": "ask",
    "GIT_SSL_NO_VERIFY": "1",
    "GIT_SSL_CAINFO": "ca",
    "GIT_PROXY_COMMAND": "proxy",
    "GIT_PROXY_SSL_KEY": "key",
}
OURS = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}
SEALED = {
    "GIT_CONFIG_GLOBAL": "/home/x/sealed",
    "GIT_CONFIG_SYSTEM": "/home/x/system",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def environment_of_git(folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """What a git process finds in its environment."""
    path = stub(folder, "exec env -0")["PATH"]
    out = Git(folder, {**inherited, "PATH": path}).run("whatever").out.decode()
    return dict(item.split("=", 1) for item in out.split("\0")[:-1])


def test_of_what_was_inherited_only_how_to_reach_a_remote_gets_through(tmp_path: Path) -> None:
    found = environment_of_git(tmp_path, ENVIRONMENT)
    assert {name: value for name, value in found.items() if name.startswith("GIT_")} == LET_THROUGH | OURS
    assert (found["LC_ALL"], "LANGUAGE" in found) == ("C", False)
    assert (found["HOME"], found["PATH_OF_MINE"], found["https_proxy"]) == ("/home/x", "kept", "http://h")


def test_the_sealed_configuration_gets_through_only_where_it_is_said_to_be_one(tmp_path: Path) -> None:
    found = environment_of_git(tmp_path, {**ENVIRONMENT, "SWARM_GIT_CONFIG_SEALED": "1"})
    assert {name: value for name, value in found.items() if name.startswith("GIT_")} == LET_THROUGH | OURS | SEALED


def test_every_process_is_told_to_run_no_hooks(tmp_path: Path, repo: Repo) -> None:
    for name in ("reference-transaction", "pre-push", "post-index-change"):
        hook = repo.path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        hook.chmod(0o755)
    git = Git(repo.path, os.environ)
    git.run("update-ref", "refs/swarm/x", "HEAD")
    assert not (tmp_path / "ran").exists()
    assert repo.run("update-ref", "refs/swarm/y", "HEAD").returncode != 0
    assert (tmp_path / "ran").exists()


def test_another_repository_in_the_environment_is_not_looked_at(tmp_path: Path, repo: Repo) -> None:
    other = init(tmp_path / "other", {"x": ""})
    stray = {**os.environ, "GIT_DIR": str(other.path / ".git"), "GIT_WORK_TREE": str(other.path)}
    assert Git(repo.path, stray).run("rev-parse", "HEAD").out.decode().strip() == repo.oid("HEAD")
    assert open_repository(Git(repo.path, stray), LIVE, None).common_dir == repo.path / ".git"


def test_replaced_objects_are_read_as_they_are(repo: Repo, objects: Objects) -> None:
    blob = repo.oid("HEAD:a")
    assert blob is not None
    repo.git("replace", blob, repo.blob("other"))
    assert repo.cat(blob) == b"other"
    assert objects.contents([blob], type="blob", limit=100) == [b"one\n"]


# How it ends.


def test_it_is_counted_and_answers_in_bytes(git: Git) -> None:
    done = git.run("cat-file", "blob", "HEAD:a")
    assert (done.code, done.out, done.err) == (0, b"one\n", "")
    git.run("version", network=True)
    assert (git.processes, git.network_operations) == (2, 1)


def test_stdin_is_given_and_is_empty_otherwise(git: Git) -> None:
    assert (
        git.run("hash-object", "--stdin", stdin=b"one\n").out.decode().strip()
        == git.run("rev-parse", "HEAD:a").out.decode().strip()
    )
    empty = git.run("hash-object", "--stdin").out
    assert empty == git.run("hash-object", "/dev/null").out


def test_an_exit_that_was_not_expected_comes_with_gits_words(git: Git) -> None:
    with pytest.raises(Undecided, match=r"^git rev-parse failed: Needed a single revision$") as caught:
        git.run("rev-parse", "--verify", "nowhere")
    assert caught.value.code == "git-failed"
    assert git.run("rev-parse", "--verify", "nowhere", ok=(128,)).code == 128


def test_a_git_that_fails_in_silence(tmp_path: Path) -> None:
    with pytest.raises(Undecided, match="it said nothing"):
        Git(tmp_path, stub(tmp_path, 'test "$9" != version || echo git version 2.40.0; exit 1')).run("whatever")


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("git version 2.37.9", "git-too-old"),
        ("git version 2.38.0", "git-failed"),
        ("git version 2.39.5 (Apple Git-154)", "git-failed"),
        ("git version 2.54.0.windows.1", "git-failed"),
        ("git version 3", "git-failed"),
        ("git version 1.9.5", "git-too-old"),
        ("something else", "git-too-old"),
        ("", "git-too-old"),
    ],
)
def test_a_failure_is_told_from_a_git_that_is_too_old(tmp_path: Path, version: str, code: str) -> None:
    script = f'for word; do test "$word" = version && echo "{version}" && exit 0; done; exit 129'
    assert code_of(Git(tmp_path, stub(tmp_path, script)), "cat-file") == code


def test_a_version_that_never_comes_is_no_reason_to_wait_for_ever(tmp_path: Path) -> None:
    """Each process has its deadline, and asking for the version cannot go round in circles."""
    assert code_of(Git(tmp_path, stub(tmp_path, "kill -SEGV $$")), "whatever") == "git-too-old"


def test_no_git(repo: Repo, tmp_path: Path) -> None:
    assert code_of(Git(repo.path, {"PATH": str(tmp_path)}), "version") == "git-missing"


def test_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        assert code_of(Git(path, os.environ), "version") == "not-a-repository"


def test_both_pipes_are_read_however_much_comes(tmp_path: Path) -> None:
    script = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"
    done = Git(tmp_path, stub(tmp_path, script)).run("whatever", deadline=20)
    assert (len(done.out), len(done.err)) == (1_000_000, 2_000_000)


def test_what_it_does_not_read_of_its_stdin_is_no_error(tmp_path: Path) -> None:
    assert Git(tmp_path, stub(tmp_path, "exec <&-; echo done")).run("whatever", stdin=b"x" * 10**6).out == b"done\n"


def test_a_signal_is_an_end_that_only_those_take_who_say_so(tmp_path: Path) -> None:
    git = Git(tmp_path, stub(tmp_path, "kill -KILL $$"))
    assert code_of(git, "push") == "git-too-old"
    assert git.run("push", ok=ANY_END).code == -9
    assert git.run("push", ok=(-9,)).code == -9


def gone(pid: int) -> bool:
    """Whether a process has ended, or is about to be reaped by somebody."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def wait_for(path: Path) -> list[int]:
    """The process ids in a file, once two are there."""
    until = time.monotonic() + 10
    while len(found := path.read_text().split() if path.exists() else []) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    return [int(word) for word in found]


HANGS = """\
echo $$ >> pids
sh -c 'echo $$ >> pids; exec sleep 60' &
{then}
sleep 60
"""


@pytest.mark.parametrize("then", ["", "exec >&- 2>&-", "trap '' TERM HUP INT"])
def test_at_the_deadline_it_goes_with_all_that_it_started(tmp_path: Path, then: str) -> None:
    git = Git(tmp_path, stub(tmp_path, HANGS.format(then=then)))
    started = time.monotonic()
    with pytest.raises(ProcessTimedOut, match=r"^git fetch was ended after 0\.5 s$") as caught:
        git.run("fetch", deadline=0.5)
    assert caught.value.code == "timed-out"
    assert time.monotonic() - started < 20
    pids = wait_for(tmp_path / "pids")
    assert len(pids) == 2
    until = time.monotonic() + 10
    while not all(map(gone, pids)):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_one_that_has_ended_but_left_a_child_with_its_pipes_is_over_at_the_deadline(tmp_path: Path) -> None:
    git = Git(tmp_path, stub(tmp_path, "echo $$ >> pids; sh -c 'echo $$ >> pids; exec sleep 60' & exit 0"))
    with pytest.raises(ProcessTimedOut):
        git.run("fetch", deadline=0.5)
    until = time.monotonic() + 10
    while not all(map(gone, wait_for(tmp_path / "pids"))):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_interrupted_it_takes_git_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = Git(tmp_path, stub(tmp_path, HANGS.format(then="")))

    def interrupted(self: object, *args: object, **more: object) -> None:
        wait_for(tmp_path / "pids")
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        git.run("fetch")
    until = time.monotonic() + 10
    while not all(map(gone, wait_for(tmp_path / "pids"))):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("err", "words"),
    [
        ("", ""),
        ("fatal: no\n", "no"),
        ("error: a\nfatal: b\n\n  hint\n", "a / b / hint"),
        ("remote: \x1b[31mred\x1b[0m\n", "remote: �[31mred�[0m"),
        ("a\u202eb\u2028c", "a�b / c"),
        ("x" * 999, "x" * 500),
    ],
)
def test_words_are_one_printable_line(err: str, words: str) -> None:
    assert Completed(1, b"", err).words == words


def test_printable_keeps_what_prints() -> None:
    assert printable("ä ö\t\n\0\x7f\u200b\ud800") == "ä ö������"
    assert printable("abc", 2) == "ab"


# Objects.


def test_info_and_contents_of_everything_that_names_an_object(repo: Repo, objects: Objects) -> None:
    blob, tree, commit = (repo.git("rev-parse", name) for name in ("HEAD:a", "HEAD:dir", "HEAD"))
    repo.git("tag", "-a", "-m", "t", "v1")
    names = [blob, "HEAD:a", "HEAD:dir", f"{commit}:dir/b", "refs/heads/main", "refs/tags/v1"]
    infos = objects.info(names)
    assert [info.type for info in infos if info] == ["blob", "blob", "tree", "blob", "commit", "tag"]
    assert infos[0] == infos[1] == ObjectInfo(ObjectId(blob), "blob", 4)
    assert [info and info.id for info in infos[2:5]] == [tree, repo.git("rev-parse", "HEAD:dir/b"), commit]
    assert objects.contents(["HEAD:a", "HEAD:dir/b"], type="blob", limit=4) == [b"one\n", b"two"]


def test_what_is_not_there_is_none(repo: Repo, objects: Objects) -> None:
    names = [
        "f" * len(repo.git("rev-parse", "HEAD")),
        "HEAD:nowhere",
        "HEAD:a b c",
        "refs/nowhere",
        "HEAD:dir/ä",
        "x y z",
    ]
    assert objects.info(names) == [None] * 6
    assert objects.contents([*names, "HEAD:a", *names], type="blob", limit=4) == [*[None] * 6, b"one\n", *[None] * 6]
    assert objects.info([]) == []
    assert objects.contents([], type="blob", limit=0) == []


def test_an_ambiguous_name_is_none(repo: Repo, objects: Objects) -> None:
    """Two blobs whose ids begin alike: git says `ambiguous`."""
    seen: dict[str, str] = {}
    script = "".join(f"blob\ndata {len(text := str(number))}\n{text}\n" for number in range(3000))
    repo.git("fast-import", "--quiet", "--export-marks=marks", input=script)
    listed = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    short = next(name[:4] for name in listed if seen.setdefault(name[:4], name) != name)
    assert objects.info([short, "HEAD:a"])[0] is None
    assert objects.contents([short, "HEAD:a"], type="blob", limit=9) == [None, b"one\n"]


@pytest.mark.parametrize("name", ["HEAD:a\nHEAD:a", "HEAD:a\0info HEAD", "HEAD:x blob 3\nyes"])
def test_a_name_that_would_be_more_than_one_question_is_refused(objects: Objects, name: str) -> None:
    for ask in (objects.info, lambda names: objects.contents(names, type="blob", limit=9)):
        with pytest.raises(Undecided, match="is not one line"):
            ask(["HEAD:a", name])
    assert objects.contents(["HEAD:a"], type="blob", limit=9) == [b"one\n"]


def test_a_name_may_hold_any_other_byte(repo: Repo, objects: Objects) -> None:
    for name in (" a ", "b\tc", "d\\e", 'f"g', "\udcffh", "ä\u2028"):
        repo.commit({name: name.encode("utf-8", "surrogateescape")})
        found = objects.contents([f"HEAD:{name}"], type="blob", limit=99)
        assert found == [name.encode("utf-8", "surrogateescape")]


def test_contents_hold_any_bytes(repo: Repo, objects: Objects) -> None:
    bodies = [b"", b"\n", b"\0", b"no line end", b"\n\n", bytes(range(256)), b"x missing\n", b"a" * 70_000]
    ids = [repo.blob(body) for body in bodies]
    assert objects.contents(ids, type="blob", limit=70_000) == bodies


def test_a_large_object_is_refused_by_its_size_and_not_read(repo: Repo) -> None:
    large = repo.blob(b"x" * 3_000_000)
    git = Git(repo.path, os.environ)
    with git.objects() as objects:
        with pytest.raises(Undecided, match="3000000 bytes; 2999999 are read") as caught:
            objects.contents(["HEAD:a", large], type="blob", limit=2_999_999)
        assert (caught.value.code, caught.value.details) == ("limits-exceeded", {"name": large})
        # Nothing of it is on the way: the next answer is that to the next question.
        assert objects.contents(["HEAD:a"], type="blob", limit=9) == [b"one\n"]
        assert objects.contents([large], type="blob", limit=3_000_000) == [b"x" * 3_000_000]
    assert git.processes == 1


@pytest.mark.parametrize("name", ["HEAD", "HEAD:dir", "v1"])
def test_an_object_of_another_type_is_refused(repo: Repo, objects: Objects, name: str) -> None:
    """A tag that points at a blob too, which `git cat-file blob` would answer for."""
    repo.git("tag", "-a", "-m", "t", "v1", "HEAD:a")
    with pytest.raises(Undecided, match=", not a blob") as caught:
        objects.contents([name], type="blob", limit=999)
    assert caught.value.code == "git-failed"


class Narrow(Git):
    """Talks to its readers through the smallest pipes that there are."""

    def start_reader(self, *args: str, lazy_fetch: bool) -> subprocess.Popen[bytes]:
        process = super().start_reader(*args, lazy_fetch=lazy_fetch)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, 4096)
        return process


@pytest.mark.skipif(not LINUX, reason="sizes of pipes are Linux's")
@pytest.mark.parametrize("length", [1, 60, 900, 3400, 4000])
def test_thousands_of_names_go_through_the_smallest_pipe(repo: Repo, length: int) -> None:
    """Whoever writes all questions before reading an answer waits for ever here, and so does git."""
    number = 5000 if length < 900 else 300
    names = [f"HEAD:{'n' * length}{at}" if at % 3 else "HEAD:a" for at in range(number)]
    with Narrow(repo.path, os.environ).objects() as objects:
        infos = objects.info(names)
        assert [info is not None for info in infos] == [at % 3 == 0 for at in range(number)]
        assert objects.contents(names[:200], type="blob", limit=9) == [
            b"one\n" if at % 3 == 0 else None for at in range(200)
        ]


@pytest.mark.skipif(not LINUX, reason="sizes of pipes are Linux's")
def test_contents_larger_than_a_pipe_go_through_it(repo: Repo) -> None:
    bodies = [bytes([at % 256]) * 9_999 for at in range(150)]
    ids = [repo.blob(body) for body in bodies]
    with Narrow(repo.path, os.environ).objects() as objects:
        assert objects.contents(ids, type="blob", limit=9_999) == bodies


def test_refs_are_read_as_they_are_now(repo: Repo, objects: Objects) -> None:
    """The process stays open while others move refs, pack them and add objects."""
    assert objects.info(["refs/swarm/x"]) == [None]
    for number in range(3):
        blob = repo.blob(str(number))
        repo.git("update-ref", "refs/swarm/x", blob)
        (info,) = objects.info(["refs/swarm/x"])
        assert info is not None and info.id == blob
        repo.git("pack-refs", "--all")
        repo.git("repack", "-adq")
    repo.git("update-ref", "-d", "refs/swarm/x")
    assert objects.info(["refs/swarm/x"]) == [None]


def test_a_full_ref_name_means_that_ref(repo: Repo, objects: Objects) -> None:
    """Also where a branch bears the name of a ref."""
    blob = repo.blob("swarm")
    repo.git("update-ref", "refs/swarm/x", blob)
    repo.git("update-ref", "refs/heads/refs/swarm/x", "HEAD")
    (info,) = objects.info(["refs/swarm/x"])
    assert info is not None and info.id == blob


VERSION = 'for word; do test "$word" = version && echo git version 2.40.0 && exit; done'


@pytest.mark.parametrize("answers", ["", "abc bl", r"abc blob 100\n", r"abc blob 100\nabc blob 100\nhalf"])
def test_a_reader_that_ends_in_the_middle_is_an_error_each_time(tmp_path: Path, repo: Repo, answers: str) -> None:
    git = Git(repo.path, stub(tmp_path, f"{VERSION}\nhead -c 1 >/dev/null\nprintf '{answers}'"))
    with git.objects() as objects:
        for _ in range(2):
            with pytest.raises(Undecided, match="ended in the middle of an answer"):
                objects.contents(["x"], type="blob", limit=999)


@pytest.mark.parametrize("answer", ["garbage", "abc blob many", "abc blob", "", "abc blob -1"])
def test_an_answer_that_is_none_is_an_error(tmp_path: Path, answer: str) -> None:
    git = Git(tmp_path, stub(tmp_path, f'{VERSION}\necho "{answer}"; exec sleep 9'))
    with git.objects() as objects, pytest.raises(Undecided) as caught:
        objects.info(["x"])
    assert caught.value.code == "git-failed"


def test_a_git_without_the_command_is_too_old(tmp_path: Path) -> None:
    script = 'for word; do test "$word" = version && echo git version 2.30.2 && exit; done; exit 129'
    with Git(tmp_path, stub(tmp_path, script)).objects() as objects, pytest.raises(Undecided) as caught:
        objects.info(["x"])
    assert caught.value.code == "git-too-old"


def test_no_more_is_read_than_was_said(repo: Repo, git: Git) -> None:
    tip = repo.git("rev-parse", "HEAD")
    assert git.read("rev-list", "--stdin", stdin=b"HEAD\n", most=100, deadline=20) == f"{tip}\n".encode()
    with pytest.raises(Undecided, match="has more than 10 bytes to say") as caught:
        git.read("rev-list", "--stdin", stdin=b"HEAD\n", most=10, deadline=20)
    assert caught.value.code == "limits-exceeded"
    with pytest.raises(Undecided) as caught:
        git.read("rev-list", "--stdin", stdin=b"nothing\n", most=100, deadline=20)
    assert caught.value.code == "git-failed"


def test_what_has_too_much_to_say_does_not_live_on(tmp_path: Path) -> None:
    for script, most, raised in (("exec yes", 1000, "has more than"), ("exec sleep 60", 1000, "was ended after")):
        folder = tmp_path / script.replace(" ", "-")
        folder.mkdir()
        began = time.monotonic()
        with pytest.raises(Undecided, match=raised):
            Git(folder, stub(folder, script)).read("whatever", stdin=b"x" * 1_000_000, most=most, deadline=0.5)
        assert time.monotonic() - began < 30


def test_a_reader_that_hangs_is_ended_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claims.git.LOCAL_DEADLINE", 0.3)
    git = Git(tmp_path, stub(tmp_path, HANGS.format(then="")))
    with git.objects() as objects, pytest.raises(ProcessTimedOut, match="no answer for"):
        objects.info(["x"])
    until = time.monotonic() + 10
    while not all(map(gone, wait_for(tmp_path / "pids"))):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_closing_ends_the_process_and_another_question_starts_a_new_one(git: Git) -> None:
    objects = git.objects()
    objects.close()
    assert objects.info(["HEAD:a"])[0] is not None
    objects.close()
    objects.close()
    assert objects.info(["HEAD:a"])[0] is not None
    objects.close()
    assert git.processes == 2


def test_what_a_partial_clone_lacks_is_fetched_only_where_it_was_allowed(tmp_path: Path, repo: Repo) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    here = clone(repo, tmp_path / "here", "--filter=blob:none", "--no-checkout")
    git = Git(here.path, os.environ)
    with git.objects() as objects, pytest.raises(Undecided):
        objects.contents(["origin/main:a"], type="blob", limit=9)
    with git.objects(lazy_fetch=True) as objects:
        assert objects.contents(["origin/main:a"], type="blob", limit=9) == [b"one\n"]


# Where one stands.


def test_a_repository(repo: Repo, git: Git) -> None:
    found = open_repository(git, LIVE, None)
    assert (found.bare, found.common_dir, found.private_dir) == (
        False,
        repo.path / ".git",
        repo.path / ".git" / "swarm",
    )
    assert (found.head, found.remote_head, found.names) == ("refs/heads/main", None, ())
    assert found.zero == "0" * len(repo.git("rev-parse", "HEAD"))
    assert found.object_format in ("sha1", "sha256")
    assert git.processes == 2


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_both_object_formats(tmp_path: Path, form: str) -> None:
    repo = Repo(tmp_path / form)
    repo.path.mkdir()
    repo.git("init", "-q", f"--object-format={form}")
    repo.commit({"a": ""})
    git = Git(repo.path, os.environ)
    found = open_repository(git, LIVE, None)
    assert (found.object_format, len(found.zero)) == (form, {"sha1": 40, "sha256": 64}[form])
    with git.objects() as objects:
        (info,) = objects.info(["HEAD:a"])
        assert info is not None and len(info.id) == len(found.zero)


def test_a_folder_below(repo: Repo) -> None:
    git = Git(repo.path / "dir", os.environ)
    assert open_repository(git, LIVE, None).common_dir == repo.path / ".git"
    assert top_level(git) == repo.path


def test_a_linked_worktree_shares_refs_and_has_a_private_folder_of_its_own(repo: Repo) -> None:
    linked = repo.worktree("linked", "topic")
    found = open_repository(Git(linked.path, os.environ), LIVE, None)
    assert (found.common_dir, found.head) == (repo.path / ".git", "refs/heads/topic")
    assert found.private_dir == repo.path / ".git" / "worktrees" / "linked" / "swarm"
    assert top_level(Git(linked.path, os.environ)) == linked.path


def test_a_bare_repository(tmp_path: Path) -> None:
    bare = origin(tmp_path / "bare.git", {"a": ""})
    found = open_repository(Git(bare.path, os.environ), LIVE, None)
    assert (found.bare, found.common_dir, found.head) == (True, bare.path, "refs/heads/main")
    assert top_level(Git(bare.path, os.environ)) is None


def test_detached(repo: Repo, git: Git) -> None:
    repo.git("switch", "-q", "--detach")
    assert open_repository(git, LIVE, None).head is None


def test_before_the_first_commit(tmp_path: Path) -> None:
    repo = init(tmp_path / "new", None)
    assert open_repository(Git(repo.path, os.environ), LIVE, None).head == "refs/heads/main"


def test_the_names_below_the_prefixes_and_no_others(repo: Repo, git: Git) -> None:
    names = [
        "refs/swarm/claim-log/T-1/x",
        "refs/swarm/slots/1",
        "refs/swarm/task-claims/T-1",
        "refs/swarm/task-claims/$(x)/ä",
        "refs/swarm/task-locks/1",
    ]
    others = ["refs/swarm/claim-log/T-2/x", "refs/swarm/claim-log-archive", "refs/swarm-fetch/1/x"]
    for name in [*names, *others]:
        repo.git("update-ref", name, repo.blob(name))
    found = open_repository(git, [*LIVE, "refs/swarm/claim-log/T-1/"], None)
    assert sorted(found.names) == sorted(names)
    assert found.head == "refs/heads/main"


def test_the_remotes_head(tmp_path: Path, repo: Repo) -> None:
    repo.git("branch", "-m", "trunk/one")
    here = clone(repo, tmp_path / "here")
    git = Git(here.path, os.environ)
    assert open_repository(git, LIVE, "origin").remote_head == "refs/remotes/origin/trunk/one"
    assert open_repository(git, LIVE, "other").remote_head is None
    assert open_repository(git, LIVE, None).remote_head is None
    assert open_repository(git, LIVE, "origin").head == "refs/heads/trunk/one"


def test_a_branch_that_is_called_head_is_not_the_remotes(tmp_path: Path, repo: Repo) -> None:
    here = clone(repo, tmp_path / "here")
    here.git("remote", "set-head", "origin", "-d")
    here.git("update-ref", "refs/remotes/origin/x/HEAD", "HEAD")
    found = open_repository(Git(here.path, os.environ), LIVE, "origin")
    assert (found.remote_head, found.head) == (None, "refs/heads/main")


def test_a_remotes_head_that_dangles_is_none(tmp_path: Path, repo: Repo) -> None:
    here = clone(repo, tmp_path / "here")
    here.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    found = open_repository(Git(here.path, os.environ), LIVE, "origin")
    assert (found.remote_head, found.head) == (None, "refs/heads/main")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(Undecided) as caught:
        open_repository(Git(tmp_path, os.environ), LIVE, None)
    assert (caught.value.code, caught.value.hint) == ("not-a-repository", "git init")


def test_a_path_with_blanks_is_one(tmp_path: Path) -> None:
    repo = init(tmp_path / "my work ä", {"a": ""})
    assert open_repository(Git(repo.path, os.environ), LIVE, None).common_dir == repo.path / ".git"


def test_a_path_of_two_lines_is_not_misread(tmp_path: Path) -> None:
    repo = init(tmp_path / "two\nlines", {"a": ""})
    with pytest.raises(Undecided) as caught:
        open_repository(Git(repo.path, os.environ), LIVE, None)
    assert caught.value.code == "git-failed"


def test_the_configuration_that_concerns_us(repo: Repo, git: Git) -> None:
    for key, value in [
        ("swarm.base", "trunk"),
        ("Swarm.Base", "main"),
        ("swarm.agent", "two\nlines"),
        ("swarm.other", "x"),
        ("remote.My.Hub.url", "/x"),
        ("remote.origin.url", "/y"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("user.signingKey", "secret"),
    ]:
        repo.git("config", "--add", key, value)
    assert read_config(git) == [
        ("swarm.base", "trunk"),
        ("swarm.base", "main"),
        ("swarm.agent", "two\nlines"),
        ("remote.My.Hub.url", "/x"),
        ("remote.origin.url", "/y"),
        ("remote.origin.promisor", "true"),
    ]


def test_no_configuration_that_concerns_us(git: Git) -> None:
    assert read_config(git) == []
