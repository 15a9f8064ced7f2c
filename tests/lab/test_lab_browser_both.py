"""The served and the saved page in a real browser, with dimfree's theories and real SGD: what holds for both, and for each."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import xarray as xr
from lab_user import drag, last_risks, pixels, problem_of, settle, slider, spoken, wait_for_curve
from serving import TOKEN, running

import dimfree as df
from dimfree.gallery.shelf import shelved

pytestmark = pytest.mark.slow
RATE = "training.learning_rate"
PROBLEM = {
    "dimension": 40,
    "data": {"units": 2, "noise": 0.01},
    "network": {"width": 2},
    "run": {"until": 20.0, "points": 16, "replicas": 3},
}


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with running(df.Problem(**PROBLEM)) as client:
        yield f"{client.origin}/?token={TOKEN}"


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> str:
    from dimfree.lab.saved import save_page

    path = tmp_path_factory.mktemp("saved") / "page.html"
    save_page(df.Problem(**PROBLEM), path)
    return path.as_uri()


@pytest.fixture(scope="module", params=["served", "saved"])
def home(request) -> str:
    """The address of the page: each of the two in turn."""
    return request.getfixturevalue(request.param)


def opened(tab, address: str, **options):
    page = tab(address, **options)
    page.set_default_timeout(300_000)  # the server compiles once, on machines of any load
    wait_for_curve(page, "ode")
    return page


def end_of_sgd(page) -> None:
    page.wait_for_function(
        "() => !lab.film.running() && lab.store.all().some(one => one.real && one.times.length >= 14)"
    )
    settle(page)


def drag_to_another_curve(page, path: str, share: float) -> None:
    """Drag, and wait until the ode is that of the new position: until then all that is shown belongs to the old one."""
    page.evaluate(
        "() => { window.ode = () => lab.store.all().find(one => one.name === 'ode'); window.before = ode(); }"
    )
    drag(page, path, share)
    page.wait_for_function("() => ode() && ode() !== before")


def test_a_drag_moves_the_curve_and_sgd_comes_with_a_verdict(tab, home):
    page = opened(tab, home)
    end_of_sgd(page)
    before, picture = last_risks(page), pixels(page)
    assert page.locator("#verdict li", has_text="ode").count() == 1
    drag_to_another_curve(page, "data.noise", 0.95)
    end_of_sgd(page)
    after = last_risks(page)
    assert after["ode"] > 2 * before["ode"]
    assert pixels(page) != picture
    # real SGD follows the limit within a factor, at so few dimensions
    real = page.evaluate("() => lab.store.all().find(one => one.real).name")
    assert 1 / 3 < after[real] / after["ode"] < 3
    assert page.locator("#verdict li", has_text="ode").count() == 1
    assert page.locator("#verdict").get_attribute("aria-live") == "polite"


def test_both_give_the_curve_of_python(tab, home):
    page = opened(tab, home)
    curve = "lab.store.all().find(one => one.name === 'ode')"
    times, risk = page.evaluate(f"() => [{curve}.times, {curve}.risk.mean]")
    solved = df.solve(df.Problem(**PROBLEM), "ode")
    assert times == pytest.approx(solved.time.values, rel=1e-12)
    assert risk == pytest.approx(solved.risk.values.ravel(), rel=1e-4)


def test_a_bookmark_restores_and_the_frozen_curve_is_named(tab, home):
    page = opened(tab, home)
    page.get_by_role("button", name="Freeze").click()
    drag(page, RATE, 0.7)
    page.wait_for_function("() => lab.problem().training.learning_rate > 1.2 && /learning_rate=/.test(location.hash)")
    page.locator("#legend", has_text="frozen").wait_for()
    page.wait_for_function("() => values.same(address.read(location.hash).problem, lab.problem())")
    kept, problem = page.url.partition("#")[2], problem_of(page)
    again = opened(tab, f"{home}#{kept}")
    assert problem_of(again) == problem
    page.wait_for_function("() => lab.store.all().length > 0")


def test_two_tabs_do_not_disturb_each_other(tab, home):
    one, other = opened(tab, home), opened(tab, home)
    untouched = last_risks(other)["ode"]
    drag(one, "data.noise", 0.9)
    one.wait_for_function("() => lab.problem().data.noise > 0.02")
    end_of_sgd(one)
    assert last_risks(other)["ode"] == untouched != last_risks(one)["ode"]


def test_keys_alone_move_a_slider_and_the_screen_reader_hears_it(tab, home):
    page = opened(tab, home)
    before = last_risks(page)["ode"]
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "control-data-noise-slider":
            break
    page.keyboard.press("End")
    page.wait_for_function("() => lab.problem().data.noise > 0.1")
    end_of_sgd(page)
    assert last_risks(page)["ode"] > before
    assert "ode" in spoken(page)
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "freeze":
            break
    page.keyboard.press("Enter")
    page.locator("#legend", has_text="frozen").wait_for()


def test_dark_mode_is_another_picture(tab, home):
    page = opened(tab, home)
    end_of_sgd(page)
    light = pixels(page)
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert pixels(page) != light


def test_the_copied_text_is_the_problem(tab, home, monkeypatch):
    page = opened(tab, home)
    compared: list[df.Problem] = []
    monkeypatch.setattr(df, "compare", lambda one: compared.append(one) or SimpleNamespace(summary=str, plot=str))
    drag(page, RATE, 0.6)
    page.wait_for_function("() => lab.problem().training.learning_rate !== 1")
    page.evaluate("() => { window.kept = ''; navigator.clipboard.writeText = async text => { window.kept = text; }; }")
    rate = problem_of(page)["training"]["learning_rate"]
    for button in ("Copy as TOML", "Copy as Python"):
        page.evaluate("() => { window.kept = ''; }")
        page.get_by_role("button", name=button).click()
        page.wait_for_function("() => window.kept !== ''")
        text = page.evaluate("() => window.kept")
        if "TOML" in button:
            assert df.loads(text) == df.Problem(**PROBLEM).replace(**{RATE: rate})
        else:
            exec(compile(text, "copied", "exec"), {})
            assert compared == [df.Problem(**PROBLEM).replace(**{RATE: rate})]


def test_a_refusal_says_its_sentence(tab, home):
    page = tab(f"{home}#training.inverse_temperature=10" if home.startswith("http") else home)
    page.wait_for_function("() => lab.store.refusals.size > 0")
    settle(page)
    page.locator("#refusals summary").click()
    sentence = page.locator("#refusals li").first.inner_text()
    assert len(sentence.split()) > 5
    assert sentence.endswith(".")


def test_another_structure_is_solved_by_the_server(tab, served):
    page = opened(tab, served)
    before = last_risks(page)["ode"]
    page.locator("#control-network-width").fill("3")
    page.locator("#control-network-width").press("Enter")
    page.wait_for_function("() => lab.problem().network.width === 3")
    wait_for_curve(page, "ode")
    page.wait_for_function("() => lab.store.all().find(one => one.name === 'ode').observables.M.shape[0] === 3")
    settle(page)
    assert last_risks(page)["ode"] != before


def test_downloads_open(tab, served, tmp_path: Path):
    page = opened(tab, served)
    end_of_sgd(page)
    for link, name in (("#download-netcdf", "kept.nc"), ("#download-figure", "kept.png")):
        with page.expect_download() as download:
            page.locator(link).click()
        download.value.save_as(tmp_path / name)
    with xr.open_datatree(tmp_path / "kept.nc") as kept:
        assert "ode" in kept.children
        assert float(kept["ode"]["risk"].isel(time=-1).mean()) > 0
    assert (tmp_path / "kept.png").read_bytes().startswith(b"\x89PNG")


def test_the_saved_page_is_one_small_file_that_asks_for_nothing(tab, saved):
    page = opened(tab, saved)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    wait_for_curve(page, "ode")
    end_of_sgd(page)
    outside = [url for url in asked if not url.startswith(("blob:", "data:")) and url.partition("#")[0] != saved]
    assert outside == []
    assert Path(saved.removeprefix("file://")).stat().st_size <= 150_000


def test_the_saved_page_says_what_needs_the_server(tab, saved):
    page = opened(tab, saved)
    width = page.locator("#control-network-width")
    assert width.is_disabled()
    assert "dimfree lab" in page.locator("#control-network-width-help").text_content()
    other = tab(saved + "#network.width=7")
    other.get_by_text(re.compile("made for network.width = 2.*needs the server")).wait_for()
    wait_for_curve(other, "ode")


def test_a_guess_hides_the_curves_and_is_compared_with_the_theory(tab, home):
    page = opened(tab, home)
    end_of_sgd(page)
    page.get_by_role("button", name="Guess first").click()
    settle(page)
    assert page.evaluate("() => lab.store.all().every(one => !one.real)")  # SGD would give it away
    hidden = pixels(page)
    box = page.locator("#risk-plot canvas").bounding_box()
    page.mouse.move(box["x"] + 70, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 60, steps=8)
    page.mouse.up()
    page.get_by_role("button", name="Show", exact=True).click()
    assert re.search("Your guess is a factor .* from ode|Well guessed", page.locator("#task").inner_text())
    assert pixels(page) != hidden
    end_of_sgd(page)  # which runs after the guess
    page.get_by_role("button", name="Clear guess").click()
    assert page.locator("#task").is_hidden()


def test_real_sgd_goes_on_by_steps_and_plays_to_its_end(tab, home):
    page = opened(tab, home)
    end_of_sgd(page)
    page.evaluate("() => { window.shown = () => lab.store.all().find(one => one.real); window.before = shown(); }")
    page.locator("#step").click()  # begins anew, and stays paused
    page.wait_for_function("() => shown() !== before && !lab.film.playing() && lab.film.running()")
    page.evaluate("() => { window.before = shown(); }")
    page.wait_for_timeout(500)
    assert page.evaluate("() => shown() === before && lab.film.running()")
    page.locator("#play").click()
    end_of_sgd(page)
    assert page.locator("#play").inner_text() == "Run SGD"
    page.locator("#verdict li", has_text="ode").wait_for()


def test_an_embedded_page_has_the_chosen_controls_and_works(tab, home):
    page = opened(tab, f"{home}#embed={RATE},data.noise", viewport={"width": 760, "height": 460})
    page.wait_for_function("() => document.querySelectorAll('.row').length === 2")
    assert page.locator("header").is_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    before = last_risks(page)["ode"]
    drag_to_another_curve(page, "data.noise", 0.95)
    end_of_sgd(page)
    assert last_risks(page)["ode"] > before
    assert "embed=" in page.url


def test_problems_of_the_list_open_and_say_what_fails(tab, served):
    page = opened(tab, served)
    page.select_option("#open", label=shelved()["perceptron"].title)
    page.wait_for_function("() => lab.problem().training.weight_decay === 0.01")
    wait_for_curve(page, "dmft")
    page.select_option("#open", label="Label noise without a variance")
    page.locator("#why", has_text="The ode needs the mean square of the errors").wait_for()
    page.locator("#refusals li", has_text="has no variance").wait_for()  # in sight, without a click
    page.select_option("#open", label="Full-batch descent above its largest stable rate")
    page.locator("#why", has_text="overshoots").wait_for()
    page.locator("#refusals li", has_text="dmft").wait_for()


def test_another_way_to_train_on_the_same_data(tab, served):
    page = opened(tab, served)
    page.locator("#control-training-kind").select_option(label="multi-pass")
    page.wait_for_function("() => lab.problem().training.kind === 'multi-pass'")
    wait_for_curve(page, "dmft")
    assert page.locator('[data-path="data.samples"]').is_visible()


def test_one_step_in_slow_motion(tab, home):
    page = opened(tab, home)
    page.get_by_role("button", name="Slow motion").wait_for()
    end_of_sgd(page)
    page.get_by_role("button", name="Slow motion").click()
    page.locator(".step-row").first.wait_for()
    first = page.locator("#slow-steps").inner_text()
    page.get_by_role("button", name="Another sample").click()
    page.wait_for_function("old => document.querySelector('#slow-steps').innerText !== old", arg=first)
    slider(page, "data.noise").press("End")  # SGD, which was paused for it, runs again
    end_of_sgd(page)
    assert page.locator("#slow-steps").is_hidden()


def test_the_point_of_the_phase_diagram_moves_the_learning_rate(tab, home):
    page = opened(tab, home)
    page.select_option("#observable", label="phase diagram")
    point = page.locator("#phase .here")
    point.press("ArrowDown")
    page.wait_for_function("() => lab.problem().training.learning_rate > 1.05")
    assert "Arrow keys" in point.get_attribute("aria-label")
    end_of_sgd(page)  # sentences that arrive later would move the diagram
    point.hover()
    before, box = problem_of(page)["training"]["learning_rate"], point.bounding_box()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 40, steps=4)
    page.mouse.up()
    page.wait_for_function("before => lab.problem().training.learning_rate > 1.05 * before", arg=before)


def test_the_live_figure_of_the_documentation_draws(tab):
    live = Path(__file__).parents[2] / "docs" / "live.html"
    page = opened(tab, f"{live.as_uri()}#embed={RATE}", viewport={"width": 760, "height": 460})
    assert page.locator(".row").count() == 1
    drag(page, RATE, 0.6)
    page.wait_for_function("() => lab.problem().training.learning_rate > 1.5")
    wait_for_curve(page, "chain")
