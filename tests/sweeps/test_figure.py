import json

import numpy as np
import pytest
import xarray as xr

import dimfree as df
from dimfree.readings.power_laws import fit
from dimfree.sweeps.frontier_figure import measured_frontier
from dimfree.sweeps.measures import measured

TIMES = np.linspace(0, 10, 101)
RNG = np.random.default_rng(0)


def made_up(axes: dict[str, list], figure: dict | None = None) -> xr.Dataset:
    """Decays with rates width^(-1/2), in two accounts, one of which misses a point."""
    grid = np.meshgrid(*axes.values(), indexing="ij")
    rate = next(iter(grid)).astype(float) ** -0.5
    noise = 1 + 1e-3 * RNG.normal(size=(*rate.shape, 1, 4))
    risk = np.exp(-rate[..., None, None] * TIMES[:, None] * noise)
    both = np.stack([risk, 1.1 * risk])
    both[(1, *(-1,) * len(axes))] = np.nan
    failure = np.full((2, *rate.shape), "", dtype=object)
    failure[(1, *(-1,) * len(axes))] = "it diverges."
    dims = ("description", *axes)
    variables = {
        "risk": ((*dims, "time", "replica"), both, {"long_name": "risk"}),
        "M": ((*dims, "unit"), np.zeros((*failure.shape, 3))),
        "failure": (dims, failure),
    }
    coordinates = {"description": ["one", "other"], **axes, "time": ("time", TIMES, {"units": "s"})}
    return xr.Dataset(variables, coordinates, {"figure": json.dumps(figure or {})})


WIDTHS = {"network.width": [1, 4, 16, 64]}
PLANE = {**WIDTHS, "dimension": [10, 20, 30]}


def test_a_crossing_is_a_time_per_replica_and_its_slope_is_known():
    when, what = measured(made_up(WIDTHS), "risk", {"crossing": 0.5})
    assert what == "time at which risk falls to 0.5"
    assert when.dims == ("description", "network.width", "replica")
    values = when.sel(description="one").values
    assert values[:, 0] == pytest.approx(np.log(2) * np.array([1, 2, 4, 8]), rel=0.02)
    found = fit(np.array(WIDTHS["network.width"], dtype=float), values)
    assert abs(found.value - 0.5) < 4 * found.standard_error + 1e-4
    assert np.isnan(when.sel(description="other").values[-1]).all()


def test_a_plateau_is_a_length_per_replica_and_its_slope_is_known():
    """Standing still for 4 times the rate of decay, as long as that takes."""
    data = made_up(WIDTHS)
    longer = data["network.width"] ** 0.5
    data["risk"] = np.exp(-np.maximum(data["time"] * 4 / longer - 2, 0)).expand_dims(
        description=data["description"], replica=4
    )
    length, what = measured(data, "risk", "plateau")
    assert what == "how long risk stays on its plateau"
    assert length.dims == ("description", "replica", "network.width")
    assert length.values[0, 0] == pytest.approx((2 + np.log(1.25)) / 4 * longer, rel=0.03)
    axes = df.plot_sweep(data, kind="slopes", measure="plateau").axes[0]
    assert axes.get_legend().get_texts()[0].get_text().startswith("slope 0.5")
    assert axes.get_ylabel() == "how long risk stays on its plateau"


@pytest.mark.slow
def test_a_measure_that_no_point_has_is_one_sentence():
    for kind, axes in (("slopes", WIDTHS), ("map", PLANE)):
        with pytest.raises(df.ProblemError, match=r"no point of the sweep has a number for 'how long risk .* plateau'"):
            df.plot_sweep(made_up(axes), kind=kind, measure="plateau")


def test_a_distance_is_the_worst_over_the_run():
    apart, _ = measured(made_up(WIDTHS), "risk", {"distance": "one"})
    assert apart["description"].values.tolist() == ["other"]
    assert apart.values[0, :3] == pytest.approx(np.full((3, 4), 0.1), abs=2e-3)
    ends, _ = measured(made_up(WIDTHS), "risk", None)
    assert ends.sel(description="one").values[0] == pytest.approx(np.full(4, np.exp(-10.0)), rel=0.1)


def test_maps_have_a_panel_per_account_and_lines(tmp_path):
    lines = [{"label": "here", "x": [1, 64], "y": [10, 30]}]
    figure = df.plot_sweep(made_up(PLANE, {"lines": lines, "title": "Made up"}), tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    one, other, bar = figure.axes
    assert [one.get_title(), other.get_title()] == ["one", "other"]
    assert one.get_xscale() == "log"
    assert one.get_legend().get_texts()[0].get_text() == "here"
    assert bar.get_ylabel() == "risk at the end"
    assert figure.get_suptitle() == "Made up. 1 of 24 points have no numbers"


def test_curves_are_a_family_and_slopes_have_error_bars():
    curves = df.plot_sweep(made_up(WIDTHS)).axes
    assert len(curves[0].lines) == 4
    assert curves[0].get_xlabel() == "time (s)"
    slopes = df.plot_sweep(made_up(PLANE), kind="slopes", measure={"crossing": 0.5}).axes
    labels = [text.get_text() for text in slopes[0].get_legend().get_texts()]
    assert labels[0].startswith("dimension = 10: slope 0.50 ± 0.00")
    assert len(labels) == 3
    assert slopes[0].get_ylabel() == "time at which risk falls to 0.5"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"kind": "pie"}, "the kind 'pie' of figure is not known"),
        ({"observable": "rsk"}, "did you mean 'risk'?"),
        ({"observable": "M"}, "is not one number a point but has unit"),
        ({"measure": "x"}, "the measure 'x' is not known"),
        ({"measure": {"distance": "ode"}}, "the sweep has no account 'ode'"),
        ({"kind": "map"}, "a map needs two axes"),
        ({"x": "net.width"}, "the sweep has no axis 'net.width'; did you mean 'network.width'?"),
        ({"colour": "red"}, "[figure] has no key 'colour'"),
        ({"kind": [1]}, "[figure] got kind = [1]; give a word"),
        ({"x": 1}, "[figure] got x = 1; give a word"),
        ({"title": {"a": 1}}, "[figure] got title = {'a': 1}; give a word"),
        ({"title": "$x_{$"}, "whose formula between dollars cannot be typeset"),
        ({"lines": "M"}, "[figure] lines cannot be read"),
        ({"lines": [{"x": [1, 2], "y": [3]}]}, "[figure] lines cannot be read"),
        ({"observable": "network.width"}, "the sweep has no observable 'network.width'"),
        ({"y": "network.width"}, "has 'network.width' for x and for y"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(how, said):
    with pytest.raises(df.ProblemError, match=r"^[^\n]*$") as caught:
        df.plot_sweep(made_up(WIDTHS), **{"kind": "slopes", **how})
    assert said in str(caught.value)


def drawn(axes) -> list[tuple[str, str]]:
    """Dash and marker of every curve that a legend names."""
    return [(line.get_linestyle(), line.get_marker()) for line in axes.get_legend_handles_labels()[0]]


@pytest.mark.parametrize("count", [2, 7])
def test_curves_of_a_family_differ_by_more_than_their_hue(count):
    axes = df.plot_sweep(made_up({"network.width": list(range(1, count + 1))})).axes[0]
    assert len({*drawn(axes)}) == count
    words = made_up({"network.width": list(range(1, 13))}).assign_coords({"network.width": [*"abcdefghijkl"]})
    assert len({*drawn(df.plot_sweep(words, kind="curves").axes[0])}) == 12, "words are named, however many"


def lightness(colour) -> float:
    from matplotlib.colors import to_rgb

    return float(np.dot([0.2126, 0.7152, 0.0722], to_rgb(colour)))


def test_curves_of_many_numbers_are_the_lighter_the_larger():
    rates = [8.0, *np.geomspace(0.5, 4.0, 9)]
    figure = df.plot_sweep(made_up({"training.learning_rate": rates}))
    shades = [lightness(line.get_color()) for line in figure.axes[0].lines]
    assert len(shades) == 10
    assert (np.diff(shades) > 0).all()
    assert figure.axes[-1].get_yscale() == "log", "the bar of a logarithmic grid"


def test_power_laws_differ_by_marker_and_dash():
    plane = {**WIDTHS, "dimension": [10, 20, 30, 40, 50, 60, 70, 80]}
    axes = df.plot_sweep(made_up(plane), kind="slopes", measure={"crossing": 0.5}).axes[0]
    fits = [line.get_linestyle() for line in axes.lines if len(line.get_xdata()) and line.get_linestyle() != "None"]
    assert len(fits) == 8
    assert len({*drawn(axes)}) == 8
    assert [dash for dash, _ in drawn(axes)] == fits


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1.0, 2.0, 4.0, 8.0], "log"),
        (list(np.geomspace(0.5, 2.0, 5)), "log"),
        ([1.0, 2.0, 5.0, 10.0], "log"),
        ([0.01, 0.1, 1.0], "log"),
        ([10.0, 20.0, 30.0], "linear"),
        (list(np.linspace(1.0, 100.0, 12)), "linear"),
        ([0.0, 1.0, 2.0, 4.0], "linear"),
        ([1.0, 100.0], "log"),
        ([1.0, 2.0], "linear"),
    ],
)
def test_values_on_a_logarithmic_grid_are_drawn_so(values, scale):
    figure = df.plot_sweep(made_up({"network.width": [1, 2, 3], "training.learning_rate": values}))
    assert figure.axes[0].get_yscale() == scale
    assert figure.axes[0].get_xscale() == "linear"
    if scale == "log":
        assert len(figure.axes[0].get_yticks()) == len(values), "each of a few values is written"


def test_times_have_the_scale_of_their_grid():
    data = made_up(WIDTHS)
    assert df.plot_sweep(data).axes[0].get_xscale() == "linear"
    later = data.assign_coords(time=("time", np.concatenate([[0], np.geomspace(0.01, 10, 100)]), {"units": "s"}))
    assert df.plot_sweep(later).axes[0].get_xscale() == "log"


def test_an_account_without_numbers_has_no_panel(tmp_path):
    data = made_up({"network.width": [1]}).isel(time=[0, 1, 100])
    figure = df.plot_sweep(data, tmp_path / "curves.png")
    assert [axes.get_title() for axes in figure.axes] == ["one"]
    with pytest.raises(df.ProblemError, match="no point of the sweep"):
        df.plot_sweep(data.isel(description=[1]))


@pytest.mark.parametrize("values", [["a", "b"], [0.0, 1.0], [-1.0, 1.0]])
def test_slopes_need_positive_numbers(values):
    data = made_up({"network.width": [1, 2]}).assign_coords({"network.width": values})
    with pytest.raises(
        df.ProblemError, match=r"^power laws need an axis of positive numbers, and 'network.width' is not one"
    ):
        df.plot_sweep(data, kind="slopes")


def of_sizes(floor: bool = True) -> xr.Dataset:
    """Risks 1/t + floor/size after t = steps/size: at compute C the best size is C^(1/3), and its risk falls like C^(-1/3)."""
    sizes, steps = np.array([2, 4, 8, 16, 32, 64, 128]), np.geomspace(1e3, 1e6, 61)
    noise = 1 + 1e-4 * RNG.normal(size=(1, len(sizes), len(steps) + 1, 4))
    t = np.concatenate([[0.0], steps]) / sizes[:, None]
    risk = (1 / (1 + t) + floor / sizes[:, None] / 2)[None, :, :, None] * noise
    dims = ("description", "network.width")
    variables = {
        "risk": ((*dims, "step", "replica"), risk, {"long_name": "risk"}),
        "failure": (dims, np.full((1, len(sizes)), "", dtype=object)),
    }
    coordinates = {"description": ["one"], "network.width": sizes, "step": np.concatenate([[0.0], steps])}
    return xr.Dataset(variables, coordinates, {"figure": json.dumps({"kind": "frontier"})})


def test_a_frontier_has_the_exponents_of_its_curves(tmp_path):
    data = of_sizes()
    found = measured_frontier(
        data["network.width"].values.astype(float), data["step"].values[1:], data["risk"].values[0][:, 1:]
    )
    assert found.size.value == pytest.approx(1 / 3, abs=0.02)
    assert found.risk.value == pytest.approx(1 / 3, abs=0.02)
    assert 0 < found.risk.standard_error < 0.01
    figure = df.plot_sweep(data, tmp_path / "frontier.png")
    said = figure.axes[0].get_legend().get_texts()[0].get_text()
    assert said.startswith("frontier: risk ~ C^-0.3")


def test_a_frontier_without_a_best_size_is_none():
    """Where nothing favours large sizes the smallest one is always best."""
    figure = df.plot_sweep(of_sizes(floor=False))
    assert "there is no frontier" in figure.axes[0].get_legend().get_texts()[0].get_text()


def test_a_frontier_counts_steps():
    with pytest.raises(df.ProblemError, match="the points of the sweep share times; set steps in its file"):
        df.plot_sweep(made_up(WIDTHS), kind="frontier")
