"""Work done in a forked child of the test process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future


def in_a_forked_process(work: Callable[[], str]) -> str:
    """What `work` returns in a child of this process; a child that hangs fails the test."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, work().encode())
        except BaseException as error:  # noqa: BLE001 - the child must not run the rest of the tests
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    answer: Future[bytes] = Future()
    threading.Thread(target=lambda: answer.set_result(os.read(reading, 1 << 16)), daemon=True).start()
    try:
        return answer.result(timeout=20).decode()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(reading)
