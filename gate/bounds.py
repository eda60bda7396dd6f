"""How much a fetch may bring: git has no setting for it, so the system is told how large a file may become."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from claims.errors import SwarmError, Undecided

#: Bytes of one fetch: of commits and trees, of the files that a merge asks for, of the few files that are read, and of
#: a task's claims, of which a thousand of 16 KiB are looked at.
HISTORY = 4 * 1024**3
MERGED = 1024**3
FILES = 256 * 1024**2
CLAIMS = 64 * 1024**2

#: How git says that a process of its own was ended for it.
_ENDED = (f"died of signal {int(signal.SIGXFSZ)}", "File too large")


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Processes that are begun meanwhile can write no file larger than `size` bytes.

    A fetch writes all that it brings into one file. Raises Undecided `limits-exceeded` where git failed for that.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    stricter = [limit for limit in (size, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(stricter), hard))
    try:
        yield
    except SwarmError as error:
        if any(words in error.message for words in _ENDED):
            raise Undecided("limits-exceeded", f"more than {size} bytes to fetch, which is what is fetched") from None
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
