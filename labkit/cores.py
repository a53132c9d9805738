"""Work shared out among the cores, by threads: NumPy lets others run while it multiplies and exponentiates.

The threads that NumPy's matrix product (BLAS) starts by itself would fight ours for the cores, and wait for each other
by spinning; threadpoolctl keeps it to one. Where that is not installed (the core needs only NumPy) there are no threads
of ours, and the matrix product has its own way.
"""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

ALONE = threading.Lock()  # a second call would find no core free


def share_out(work: Callable[[Any], None], pieces: Iterable[Any]) -> None:
    """Call `work` with each piece. What it raises is raised here, and the pieces that are left are dropped."""
    left = iter(pieces)

    def take_what_is_left() -> None:
        try:
            for piece in left:
                work(piece)
        finally:
            for _ in left:
                pass

    with ALONE:
        others = threads() - 1
        with _blas_limited_to(1), ThreadPoolExecutor(max(others, 1)) as pool:
            helpers = [pool.submit(take_what_is_left) for _ in range(others)]
            take_what_is_left()
    for helper in helpers:
        helper.result()


def threads() -> int:
    """As many as the matrix product would use, so that a limit set for it holds here, too."""
    if _blas() is None:
        return 1
    return max((library["num_threads"] for library in _blas().info()), default=os.cpu_count() or 1)


@cache
def _blas() -> Any:
    """Control of the libraries behind the matrix product, or None."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def _blas_limited_to(threads: int) -> AbstractContextManager:
    return nullcontext() if _blas() is None else _blas().limit(limits=threads)
