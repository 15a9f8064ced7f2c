"""Crossing times and plateaus of every curve of a result, whatever other dimensions it has, and wherever times were saved."""

import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.readings.landmarks import _forward

LENGTHS = xr.DataArray([[20.0, 40.0, 60.0], [30.0, 50.0, 70.0]], dims=("rate", "replica"))


def curves(times: np.ndarray, left=LENGTHS) -> xr.DataArray:
    """Standing at 1 after a fall from 8 until t = 2, and until `left`; from then on an exponential decay of rate 1/2."""
    time = xr.DataArray(times, dims="time", coords={"time": ("time", times, {"units": "s"})})
    early, late = 8.0 ** (1 - time / 2), np.exp(-0.5 * (time - left))
    return xr.where(time < left, np.maximum(early, 1.0), late).rename("risk")


@pytest.fixture
def sweep() -> xr.Dataset:
    """In the order of a sweep: time is neither the first nor the last dimension."""
    risk = curves(np.linspace(0, 100, 401)).expand_dims(description=["one", "other"])
    return xr.Dataset({"risk": risk.transpose("description", "rate", "time", "replica")})


def test_every_curve_of_a_sweep_has_its_own_crossing_time(sweep):
    when = df.crossing_times(sweep, np.exp(-2.0))
    assert when.dims == ("description", "rate", "replica")
    assert when.attrs["units"] == "s"
    np.testing.assert_allclose(when.sel(description="other"), LENGTHS + 4)


def test_every_curve_of_a_sweep_has_its_own_plateau(sweep):
    found = df.plateau(sweep)
    assert found.sizes == {"description": 2, "rate": 2, "replica": 3}
    one = found.sel(description="one")
    assert_is_the_plateau(one, spacing=0.25)
    np.testing.assert_allclose(one["length"], one["end"] - one["begin"])
    np.testing.assert_allclose(one["height"], 1.0, rtol=0.02)


def assert_is_the_plateau(found: xr.Dataset, spacing: float) -> None:
    """It ends where 1/1.25 of its height is reached, and is left at a half; corners of the curve are saved to `spacing`."""
    end, escape = LENGTHS + 2 * np.log(1.25), LENGTHS + 2 * np.log(2)
    assert float(np.abs(found["begin"] - 2).max()) <= spacing
    assert float(np.abs(found["end"] - end).max()) < 0.4 * spacing
    assert float(np.abs(found["escape"] - escape).max()) < 0.4 * spacing


@pytest.mark.parametrize("spacing", [0.5, 1.0, 2.0, 2.5])
def test_where_times_were_saved_does_not_matter(spacing):
    times = np.arange(0.0, 101.0, spacing)
    assert_is_the_plateau(df.plateau(curves(times)), spacing)
    times = times[times < 90] + 0.3 * spacing  # saved elsewhere: the same curves
    assert_is_the_plateau(df.plateau(curves(times)), spacing)
    exact = (LENGTHS + 2 * np.log(1e3)).values
    assert df.crossing_times(curves(times), 1e-3).values == pytest.approx(exact, rel=1e-12)


def test_the_longest_stretch_is_found_in_one_pass_as_by_trying_all():
    rng = np.random.default_rng(0)
    values = np.exp(np.cumsum(0.1 * rng.normal(size=(50, 60)), axis=1))
    values[7, 20] = np.nan
    values[8, 30] = 0.0
    for curve in values:
        last = {one.first: one.last for one in _forward(np.arange(60.0), curve)}
        for first in np.flatnonzero(curve > 0):
            high, low = np.maximum.accumulate(curve[first:]), np.minimum.accumulate(curve[first:])
            assert last[first] == first + np.sum(high <= 1.25 * low) - 1


def test_where_there_is_no_plateau_there_is_no_number():
    time = np.linspace(0, 100, 101)
    decay = xr.DataArray(np.exp(-time / 20), dims="time", coords={"time": time})
    still = xr.ones_like(decay)
    both = df.plateau(xr.concat([decay, still], "which"))
    assert all(np.isnan(both[name]).all() for name in both)
    assert np.isnan(df.crossing_times(still, 0.5))


def test_what_is_not_a_number_has_no_landmarks_and_leaves_the_others_alone(sweep):
    sweep = sweep.copy(deep=True)
    sweep["risk"][0, 1, :, 2] = np.nan
    for found in (df.crossing_times(sweep, 0.5), df.plateau(sweep)["length"]):
        assert int(np.isnan(found).sum()) == 1
        assert np.isnan(found[0, 1, 2])


def test_steps_are_a_clock_as_well(sweep):
    by_step = sweep.rename(time="step")
    xr.testing.assert_equal(df.plateau(by_step)["length"], df.plateau(sweep)["length"])


@pytest.mark.slow
def test_a_comparison_has_its_accounts_side_by_side():
    problem = df.Problem(dimension=30, network=df.TwoLayer(width=2), run=df.Run(until=3.0, points=5))
    found = df.compare(problem, only=["chain", "ode"], replicas=3)
    level = float(found.accounts["ode"]["risk"][-2].mean())
    when = df.crossing_times(found, level)
    assert when.dims == ("description", "replica")
    assert when["description"].values.tolist() == list(found.names)
    assert when.sel(description="ode", replica=0) == df.crossing_times(found.accounts["ode"], level).item()
    np.testing.assert_array_equal(
        when.sel(description="chain"), df.crossing_times(found.accounts["chain"], level).values
    )
    assert df.plateau(found).sizes == when.sizes


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda data: df.crossing_times(data, 0.5, "rsk"), "the result has no observable 'rsk'; did you mean 'risk'?"),
        (lambda data: df.plateau(data.isel(time=0)), "a curve needs a dimension 'time' or 'step'"),
    ],
)
def test_what_has_no_curve_is_one_sentence(sweep, ask, said):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        ask(sweep)
    assert said in str(caught.value)
