"""The noise of sampling: a function of (seed, choice index, position, token id) and of nothing else.

No generator is carried from step to step, so the batch, the schedule, a preemption or a cache hit cannot
shift it. The words come from Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as
1, 2, 3"), as numpy has it, with

    key      (seed, NOISE_KEY)
    counter  (0, position, choice, 0); numpy adds one before each block of four words

Each 64-bit word serves two token ids, its low half the even one. A half w is read as
u = (w + 1/2) * (1 - 2^-23) / 2^32, strictly between 0 and 1 in fp32 too, and the Gumbel variable is
-log(-log(1 - u)): written so, the large values that decide a draw come from small u, where fp32 is finest.
The formula is part of what a seed means: a change of it changes every sampled text.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

NOISE_KEY: Final = 0x7261_6469_786B_7601  # "radixkv" in ASCII and a version
Words: TypeAlias = npt.NDArray[np.uint32]
_SCALE: Final = np.float32((1 - 2.0**-23) / 2.0**32)


def noise_words(seed: int, choice: int, position: int, vocab_size: int) -> Words:
    """The random word of every token id, (vocab_size,) uint32. Linear in `vocab_size`."""
    generator = np.random.Philox(
        key=np.array([seed, NOISE_KEY], dtype=np.uint64),
        counter=np.array([0, position, choice, 0], dtype=np.uint64),
    )
    words = generator.random_raw((vocab_size + 1) // 2)
    return words.astype("<u8", copy=False).view("<u4")[:vocab_size]


def gumbel_noise(words: Words) -> Tensor:
    """Standard Gumbel variables of some words, fp32 of the same shape on the CPU."""
    uniform = torch.from_numpy((words.astype(np.float32) + np.float32(0.5)) * _SCALE)
    return uniform.neg_().log1p_().neg_().log_().neg_()
