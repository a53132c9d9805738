"""Work shared out among the cores, by threads: NumPy lets others run while it multiplies and exponentiates.

The threads that NumPy's matrix product (BLAS) starts by itself would fight ours for the cores: threadpoolctl, where it
is installed, keeps it to one. Without threadpoolctl we have one ourselves, and the matrix product has its own way.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache

ALONE = threading.Lock()  # a second call would find no core free


def share_out(work, pieces):
    """Call `work` with each piece. What it raises is raised here, and the pieces that are left are dropped."""
    left = iter(pieces)

    def take_what_is_left(_):
        for piece in left:
            work(piece)

    with ALONE:
        number = threads()
        with _blas_limited_to(1), ThreadPoolExecutor(number) as pool:
            try:
                for _ in pool.map(take_what_is_left, range(number)):
                    pass
            finally:
                for _ in left:
                    pass


def threads():
    """As many as the matrix product would use, so that a limit set for it holds here, too."""
    if _blas() is None:
        return 1
    return max((library["num_threads"] for library in _blas().info()), default=os.cpu_count() or 1)


@cache
def _blas():
    """Control of the libraries behind the matrix product, or None."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def _blas_limited_to(threads):
    return nullcontext() if _blas() is None else _blas().limit(limits=threads)
