"""The three laws against SciPy's own and against differences, far into the tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from boostsoft.kernels.compile import kernel
from boostsoft.kernels.noise import LAWS, gaussian_odds, gumbel_odds, logarithm, noise, second_ratio
from boostsoft.kernels.simd import load, store

SCIPY = {"gaussian": stats.norm, "gumbel": stats.gumbel_r, "logistic": stats.logistic}


@kernel
def tabulate(law, z, p, q, w, r, r2):
    for i in range(0, z.size, 8):
        above, below, density, ratio = noise(law, load(z, i))
        store(p, i, above)
        store(q, i, below)
        store(w, i, density)
        store(r, i, ratio)
        store(r2, i, second_ratio(law, density, ratio))


@kernel
def tabulate_logarithm(x, out):
    for i in range(0, x.size, 8):
        store(out, i, logarithm(load(x, i)))


@kernel
def tabulate_odds(z, t, v, gumbel):
    for i in range(0, z.size, 8):
        odds, slope = gaussian_odds(load(z, i))
        store(t, i, odds)
        store(v, i, slope)
        store(gumbel, i, gumbel_odds(load(z, i)))


def law_at(name, z):
    columns = [np.empty_like(z) for _ in range(5)]
    tabulate(LAWS[name], z, *columns)
    return columns


@pytest.mark.parametrize("name", LAWS)
def test_tails_and_densities_keep_their_relative_accuracy(name):
    z = np.linspace(-6.0 if name == "gumbel" else -35.0, 35.0, 8000)
    p, q, w, _, _ = law_at(name, z)
    law = SCIPY[name]
    np.testing.assert_allclose(p, law.sf(z), rtol=5e-13)
    np.testing.assert_allclose(q, law.cdf(z), rtol=5e-13)
    np.testing.assert_allclose(w, law.pdf(z), rtol=5e-13)


@pytest.mark.parametrize("name", LAWS)
def test_ratios_are_the_derivatives_of_the_density(name):
    z, step = np.linspace(-2.5, 6.0, 800), 1e-4
    _, _, w, r, r2 = law_at(name, z)
    density = SCIPY[name].pdf
    np.testing.assert_allclose(-r * w, (density(z + step) - density(z - step)) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(r2 * w, (density(z + step) - 2 * density(z) + density(z - step)) / step**2, atol=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_far_out_nothing_is_lost_or_undefined(name):
    z = np.array([-1e300, -1e6, -750.0, -100.0, 100.0, 750.0, 1e6, 1e300])
    p, q, w, r, _ = law_at(name, z)
    assert np.isfinite([p, q, w, w * np.clip(r, -1e20, 1e20)]).all()
    np.testing.assert_allclose(p, z < 0, atol=1e-40)
    np.testing.assert_allclose(q, z > 0, atol=1e-40)
    np.testing.assert_allclose(w, 0, atol=1e-40)


def test_logarithms_to_the_last_digits():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.exp(rng.uniform(-700, 700, 800)), rng.uniform(0.5, 2.0, 800), np.sqrt(0.5) + 1e-16 * np.arange(8)]
    )
    found = np.empty_like(x)
    tabulate_logarithm(x, found)
    np.testing.assert_allclose(found, np.log(x), rtol=1e-15, atol=1e-15)


def test_odds_to_their_digits():
    z = np.concatenate([np.linspace(-7.0, 7.0, 4000), [-37.0, -20.0, -9.0, 9.0, 20.0, 37.0, 0.0, -0.0]])
    t, v, _ = found = [np.empty_like(z) for _ in range(3)]
    tabulate_odds(z, *found)
    law, inside = stats.norm, np.abs(z) <= 7.0
    np.testing.assert_allclose(t[inside], (law.sf(z) / law.cdf(z))[inside], rtol=2e-9)
    np.testing.assert_allclose(v[inside], (law.pdf(z) / law.cdf(z))[inside], rtol=2e-9)
    np.testing.assert_allclose(t[~inside], (law.sf(z) / law.cdf(z))[~inside], rtol=0.1)
    assert np.all(v > 0)


def test_gumbel_odds_to_their_digits():
    e = np.geomspace(1e-12, 600.0, 4000)
    _, _, t = found = [np.empty_like(e) for _ in range(3)]
    tabulate_odds(e, *found)
    np.testing.assert_allclose(t, np.expm1(e), rtol=2e-9)
