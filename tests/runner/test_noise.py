from __future__ import annotations

import numpy as np
import pytest
import torch

from radixkv.request import MAX_SEED
from radixkv.runner.noise import gumbel_noise, noise_words

GOLDEN = {
    (0, 0, 0): [312548777, 929368940, 2862360072, 3210274927, 57423667],
    (5, 2, 7): [4086135218, 3874533027, 3084339171, 1221830661, 4280253599],
    (MAX_SEED, 127, 8191): [3999837732, 2995036730, 2888860206, 1810499425, 3966586840],
}


def test_the_words_of_a_seed_never_change() -> None:
    """These words are what a seed means: were they to change, every sampled text would."""
    assert noise_words(0, 0, 0, 5).tolist() == GOLDEN[0, 0, 0]
    assert noise_words(5, 2, 7, 5).tolist() == GOLDEN[5, 2, 7]
    assert noise_words(MAX_SEED, 127, 8191, 5).tolist() == GOLDEN[MAX_SEED, 127, 8191]


def test_gumbel_follows_its_formula() -> None:
    words = np.array([0, 1, 2**31, 2**32 - 1, 123456789], dtype=np.uint32)
    uniform = (words.astype(np.float64) + 0.5) * (1 - 2.0**-23) / 2**32
    np.testing.assert_allclose(gumbel_noise(words).numpy(), -np.log(-np.log1p(-uniform)), rtol=1e-4, atol=1e-6)


def test_no_word_gives_an_infinite_variable() -> None:
    extremes = np.array([0, 2**32 - 1, 2**32 - 2, 2**32 - 128], dtype=np.uint32)
    assert bool(gumbel_noise(extremes).isfinite().all())


@pytest.mark.parametrize("other", [(6, 0, 0), (5, 1, 0), (5, 0, 1)])
def test_seed_choice_and_position_each_change_all_of_the_noise(other: tuple[int, int, int]) -> None:
    assert (noise_words(5, 0, 0, 1000) == noise_words(*other, 1000)).sum() <= 1


def test_a_token_has_its_noise_whatever_the_size_of_the_vocabulary() -> None:
    assert noise_words(5, 0, 3, 999).tolist() == noise_words(5, 0, 3, 49152)[:999].tolist()


def test_gumbel_has_the_moments_of_its_distribution() -> None:
    noise = torch.cat([gumbel_noise(noise_words(9, 0, position, 50_000)) for position in range(4)]).double()
    assert noise.mean().item() == pytest.approx(0.5772, abs=0.01)  # Euler's constant
    assert noise.var().item() == pytest.approx(np.pi**2 / 6, abs=0.03)
