"""Seeds of a run: a pure function of where in the program a call stands, so that no schedule can change them.

    seed = first 8 bytes (little endian, top bit cleared) of
           blake2b(run seed, static site id, branch path, loop indices, attempt)

Canonical encoding; integers are unsigned and little endian, a site is its UTF-8 length as u32 and its UTF-8 bytes:
run seed u64, site, number of path steps u32, per step its site and its index u32, number of loop indices u32, each
index u32, attempt u32. The branch path holds forks (site, index of the branch) and calls of defs (site, 0) from the
outside in; the loop indices are those of every loop and comprehension around the call, from the outside in.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b

MAX_SEED = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where execution stands, apart from the node itself: branch path and loop indices."""

    branches: tuple[tuple[str, int], ...] = ()
    loops: tuple[int, ...] = ()

    def branch(self, site: str, index: int) -> Place:
        """Inside branch `index` of the fork at `site`."""
        return Place((*self.branches, (site, index)), self.loops)

    def call(self, site: str) -> Place:
        """Inside the def called at `site`."""
        return self.branch(site, 0)

    def loop(self, index: int) -> Place:
        """Inside iteration `index` of a loop."""
        return Place(self.branches, (*self.loops, index))


def draw_run_seed() -> int:
    """A fresh run seed: below 2**32, so that it is easy to type again."""
    return secrets.randbits(32)


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _site(site: str) -> bytes:
    raw = site.encode()
    return _u32(len(raw)) + raw


def encode(run_seed: int, site: str, place: Place, attempt: int) -> bytes:
    """The canonical bytes that are hashed."""
    pieces = [run_seed.to_bytes(8, "little"), _site(site), _u32(len(place.branches))]
    for branch_site, index in place.branches:
        pieces += (_site(branch_site), _u32(index))
    pieces.append(_u32(len(place.loops)))
    pieces.extend(map(_u32, place.loops))
    pieces.append(_u32(attempt))
    return b"".join(pieces)


def request_seed(run_seed: int, site: str, place: Place, attempt: int = 0) -> int:
    """The seed of one request: 0..2**63-1."""
    digest = blake2b(encode(run_seed, site, place, attempt)).digest()
    return int.from_bytes(digest[:8], "little") & MAX_SEED
