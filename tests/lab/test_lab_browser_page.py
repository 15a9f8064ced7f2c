"""The page in a real browser, over a backend without mathematics: what a user does and what the page then shows."""

import json

import pytest
from lab_user import drag, last_risks, pixels, problem_of, settle, slider, spoken, wait_for_curve

import dimfree as df
from dimfree.lab.phase import phase_of

RATE = "training.learning_rate"


def test_a_drag_changes_curve_and_address_and_sgd_arrives(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "sgd")
    before, picture = last_risks(page), pixels(page)
    page.get_by_text("exact describes these runs.").wait_for()
    drag(page, "data.noise", 0.9)
    page.wait_for_function("() => /data.noise=0\\.\\d/.test(location.hash)")
    wait_for_curve(page, "sgd")
    assert last_risks(page)["exact"] > 30 * before["exact"]
    assert pixels(page) != picture
    assert page.evaluate("() => lab.measured.length") > 0


@pytest.mark.slow
def test_a_bookmark_restores_the_problem_and_what_was_looked_at(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    drag(page, RATE, 0.8)
    page.locator("#log-risk").click()
    page.wait_for_function("() => location.hash.includes('view.logRisk=false')")
    kept, problem = page.url, problem_of(page)
    assert problem["training"]["learning_rate"] != 1
    again = tab(kept)
    wait_for_curve(again, "exact")
    assert problem_of(again) == problem
    assert again.locator("#log-risk").get_attribute("aria-pressed") == "false"
    assert (
        float(again.get_by_label("learning rate", exact=True).first.input_value())
        == problem["training"]["learning_rate"]
    )


@pytest.mark.slow
def test_two_tabs_do_not_disturb_each_other(tab, fake_page):
    one, other = tab(fake_page), tab(fake_page)
    wait_for_curve(one, "exact")
    wait_for_curve(other, "exact")
    untouched = last_risks(other)["exact"]
    drag(one, "data.noise", 0.95)
    one.wait_for_function("() => lab.problem().data.noise > 0.1")
    settle(other)
    assert last_risks(other)["exact"] == untouched


@pytest.mark.slow
def test_a_refusal_says_its_sentence_and_the_curve_goes(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "narrow")
    page.select_option("#open", label="Too wide on purpose")
    page.wait_for_function("() => lab.store.refusals.has('narrow')")
    settle(page)
    assert "narrow" not in last_risks(page)
    assert page.get_by_text("The second description refuses wide networks.").is_visible()
    assert page.get_by_text("narrow needs a width of at most 8, and this one is 16.").is_visible()


@pytest.mark.slow
def test_a_structure_that_the_backend_rejects_leaves_the_page_alive(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    page.locator("#control-network-width").fill("40")
    page.locator("#control-network-width").press("Enter")
    page.get_by_text("network.width is 40, which is more than 16.").wait_for()
    assert problem_of(page)["network"]["width"] == 4
    page.locator("#control-network-width").fill("6")
    page.locator("#control-network-width").press("Enter")
    page.wait_for_function("() => lab.problem().network.width === 6")
    assert page.locator("#notice").is_hidden()
    assert page.get_by_text("6 units learn").is_visible()


@pytest.mark.slow
def test_frozen_curves_stay_in_grey_until_they_are_cleared(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    page.get_by_role("button", name="Freeze").click()
    drag(page, RATE, 0.1)
    settle(page)
    assert page.get_by_text("frozen: learning rate 1").is_visible()
    with_grey = pixels(page)
    page.locator("#play").click()
    page.get_by_role("button", name="Clear", exact=True).click()
    settle(page)
    assert page.locator("#legend").get_by_text("frozen").count() == 0
    assert pixels(page) != with_grey


@pytest.mark.slow
def test_sgd_pauses_goes_on_by_steps_and_plays_again(tab, fake_page):
    page = tab(fake_page)
    count = "() => (lab.store.all().find(one => one.real) || {times: []}).times.length"
    page.wait_for_function(f"() => ({count})() === 61")
    for shown in (5, 10):  # the first step begins anew, and stays paused
        page.locator("#step").click()
        page.wait_for_function(f"() => ({count})() === {shown}")
        page.wait_for_timeout(150)
        assert page.evaluate(count) == shown
    assert page.locator("#play").inner_text() == "Play"
    page.locator("#play").click()
    page.wait_for_function(f"() => ({count})() === 61")


@pytest.mark.slow
def test_all_units_stand_in_the_plane_of_overlap_and_norm(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "sgd")
    page.wait_for_function("() => !lab.film.running()")
    assert page.evaluate("() => units.name(lab.store)") is None  # the fake theories have no norms
    page.evaluate(
        """() => { for (const one of lab.store.all())
        one.observables.Q_diagonal = { dims: ['unit'], shape: [2], values: one.times.map(t => [t, 2 * t]) }; }"""
    )
    shown = page.evaluate("() => units.series(lab.store, 'narrow')")
    theory, runs = shown["shown"]
    last = page.evaluate("() => lab.store.all()[0].times[60]")
    assert (shown["theory"], shown["time"]) == ("narrow", last)
    assert theory["y"] == runs["y"] == [last, 2 * last]
    M = page.evaluate("() => lab.store.all()[0].observables.M.values[60]")
    assert theory["x"] == [max(M[:2]), max(M[2:])]
    page.locator("#log-risk").click()  # paints
    page.select_option("#observable", label="units (m, q)")
    page.get_by_text("every unit at t = ").wait_for()
    assert page.locator("#side-legend").inner_text().split("\n") == ["exact", "real SGD"]


@pytest.mark.slow
def test_many_units_of_a_theory_are_shades_under_those_of_sgd(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "sgd")
    page.wait_for_function("() => !lab.film.running()")
    page.evaluate(
        """() => { for (const one of lab.store.all()) {
        const m = Array.from({ length: 64 }, (_, i) => Math.sin(i)), rows = row => one.times.map(() => row);
        const q = { values: rows([1, 2, 3, 4]), sample: rows(m.map(x => 1 + x * x)) };
        one.observables.M = { dims: ['unit', 'teacher'], shape: [64, 1], values: rows(m) };
        one.observables.Q_diagonal = { dims: ['quintile'], shape: [4], ...q };
        } }"""
    )
    theory, runs = page.evaluate("() => units.series(lab.store, 'exact').shown")
    assert (theory["dense"], runs["dense"]) == (True, False)
    assert theory["weights"] == [1] * 64
    assert [1 + x * x for x in theory["x"]] == pytest.approx(theory["y"])
    page.locator("#log-risk").click()  # paints
    page.select_option("#observable", label="units (m, q)")
    page.locator("#side-legend", has_text="density of its units").wait_for()
    settle(page)
    with_shades = pixels(page, "#side-plot")
    page.evaluate("() => { density.shade = () => {}; lab.risk.redraw(); }")
    page.locator("#log-risk").click()
    settle(page)
    assert pixels(page, "#side-plot") != with_shades


@pytest.mark.slow
def test_a_guess_hides_the_curves_and_is_scored(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    page.get_by_role("button", name="Guess first").click()
    assert page.get_by_text("Draw the risk that you expect").is_visible()
    box = page.locator("#risk-plot canvas").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60, steps=6)
    page.mouse.up()
    page.get_by_role("button", name="Show", exact=True).click()
    assert "factor" in page.locator("#task").inner_text()
    page.get_by_role("button", name="Clear guess").click()
    assert page.locator("#task").is_hidden()
    page.get_by_role("button", name="Guess first").click()  # once more, by keys: the plot has the focus
    for key in ("ArrowUp", "ArrowUp", *["ArrowRight"] * 8):
        page.keyboard.press(key)
    page.get_by_role("button", name="Show", exact=True).click()
    assert "factor" in page.locator("#task").inner_text()


@pytest.mark.slow
def test_everything_is_reached_and_moved_by_keys_alone(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    before, seen = last_risks(page)["exact"], []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''")
        )
        if seen[-1] == "control-data-noise-slider":
            page.keyboard.press("End")
        if seen[-1] == "observable":
            break
    order = ["open", "copy-link", "control-data-noise-slider", "play", "freeze", "guess", "log-time", "observable"]
    assert [one for one in seen if one in order] == order
    page.wait_for_function("() => lab.problem().data.noise === 1")
    settle(page)
    assert last_risks(page)["exact"] > 10 * before
    page.locator("#risk-plot canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "t = " in page.locator("#announce").inner_text()


@pytest.mark.slow
def test_every_control_has_a_name_and_its_help(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button')]
        .filter(one => !one.hidden && !one.getAttribute('aria-label') && !one.textContent.trim())
        .filter(one => !(one.labels && one.labels.length)).map(one => one.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("#verdict").get_attribute("aria-live") == "polite"
    slider(page, RATE).focus()
    assert page.locator("#help").inner_text() == "learning rate: Size of a step."


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_dark_mode_repaints_and_nothing_is_cut_off(tab, fake_page, size):
    width, height = size
    page = tab(fake_page, viewport={"width": width, "height": height})
    wait_for_curve(page, "exact")
    light, ground = pixels(page), page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("old => getComputedStyle(document.body).backgroundColor !== old", arg=ground)
    settle(page)
    assert pixels(page) != light
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    # nor is anything hidden in a row that would have to be scrolled sideways
    wide = (
        "() => [...document.querySelectorAll('.tools, .bar, .legend, .row')].filter(e => e.scrollWidth > e.clientWidth)"
    )
    assert page.evaluate(f"{wide}.map(e => e.outerHTML)") == []
    if width == 1280:
        assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.slow
def test_a_page_without_curves_says_what_is_waited_for_and_draws_a_curve_as_it_grows(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    assert page.locator("#waiting").is_hidden()
    page.select_option("#open", label="Slow on purpose")
    page.get_by_text("exact takes about 34 seconds on a quiet machine; its curve is drawn as it comes.").wait_for()
    page.get_by_text(
        "solving exact, about 34 seconds on a quiet machine …"
    ).wait_for()  # beside the verdict, also later
    page.evaluate("() => goOn()")
    page.wait_for_function("() => lab.store.all().some(one => one.name === 'exact' && one.times.length === 30)")
    page.get_by_text("solving exact, 50 % …").wait_for()
    assert page.locator("#waiting").is_hidden()
    page.evaluate("() => goOn()")
    page.wait_for_function("() => lab.store.all().some(one => one.name === 'exact' && one.times.length === 61)")


@pytest.mark.slow
def test_a_newer_position_does_not_wait_for_the_rest_of_a_solution_whose_first_curve_is_there(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    page.select_option("#open", label="Slow on purpose")
    page.wait_for_function("() => window.asked === 1")
    page.evaluate("() => goOn()")
    page.get_by_text("solving exact, 50 % …").wait_for()
    slider(page, "data.noise").press("End")
    page.wait_for_function("() => window.asked === 2")


@pytest.mark.slow
def test_a_theory_that_waits_until_the_sliders_rest_is_marked_and_pale_meanwhile(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "narrow")
    assert page.locator("#legend", has_text="when the sliders rest").count() == 0
    page.locator("#control-network-width").fill("6")
    page.locator("#control-network-width").press("Enter")
    page.locator("#legend", has_text="when the sliders rest").wait_for()
    shown = "() => lab.store.risks().find(one => one.name === 'narrow').alpha"
    assert page.evaluate(shown) == 1
    slider(page, "data.noise").press("End")
    page.wait_for_function(f"() => ({shown})() < 0.5")
    page.wait_for_function(f"() => ({shown})() === 1")


@pytest.mark.slow
def test_an_experiment_that_refuses_is_not_waited_for(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    page.select_option("#open", label="Slow on purpose")  # on which SGD refuses
    page.get_by_text("SGD was not run.").wait_for()
    assert page.locator("#verdict li").count() == 1


@pytest.mark.slow
def test_an_embedded_page_shows_the_chosen_controls_only(tab, fake_page):
    page = tab(fake_page + "#embed=data.noise", viewport={"width": 720, "height": 420})
    wait_for_curve(page, "exact")
    assert page.locator(".row").count() == 1
    assert page.locator("header").is_hidden()
    drag(page, "data.noise", 0.9)
    page.wait_for_function("() => lab.problem().data.noise > 0.1 && location.hash.includes('embed=data.noise')")


@pytest.mark.slow
def test_copies_say_the_problem(tab, fake_page):
    page = tab(fake_page, permissions=["clipboard-read", "clipboard-write"])
    wait_for_curve(page, "exact")
    for button, text in (("Copy as TOML", "toml of learning rate 1"), ("Copy as Python", "python of learning rate 1")):
        page.get_by_role("button", name=button).click()
        page.wait_for_function("text => navigator.clipboard.readText().then(copied => copied === text)", arg=text)
    page.get_by_role("button", name="Copy the address").click()
    page.wait_for_function(
        "() => navigator.clipboard.readText().then(copied => copied.includes('#dimension=300&data.kind='))"
    )
    assert "exact" in spoken(page)


@pytest.mark.slow
def test_ticks_of_wide_decades_have_names_and_none_has_an_e(tab, fake_page):
    """Pixels of a decade decide how many names there is room for."""
    page = tab(fake_page)
    ranges = [[[0.3, 1.0], True, 320], [[0.1, 1.0], True, 200], [[1e-6, 1.0], True, 320], [[-7e8, 2e8], False, 300]]
    half, whole, many, linear = page.evaluate(
        """ranges => ranges.map(([range, log, pixels]) =>
        scales.make(range, log, 0, pixels).ticks.map(tick => tick.label).filter(Boolean))""",
        ranges,
    )
    assert half == ["0.3", "0.4", "0.5", "0.6", "0.8", "1"]
    assert whole == ["0.1", "0.2", "0.5", "1"]
    assert many == ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"]
    assert linear == ["−6·10⁸", "−4·10⁸", "−2·10⁸", "0", "2·10⁸"]


@pytest.mark.slow
def test_a_curve_at_zero_and_a_band_down_to_nothing_leave_the_logarithmic_axis_alone(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "sgd")
    page.wait_for_function("() => !lab.film.running()")
    lowest = "() => Math.min(...lab.store.all().filter(one => one.real).flatMap(one => one.risk.mean))"
    before = page.evaluate(lowest)
    page.evaluate(
        """() => { for (const one of lab.store.all()) {
        if (one.real) one.risk.low = one.risk.low.map(() => 1e-12);
        if (one.name === 'narrow') one.risk.mean = one.risk.mean.map((_, j) => (j % 2 ? 0 : -1e-13)); } }"""
    )
    page.locator("#log-time").click()  # paints
    page.locator("#legend", has_text="is 0, below a logarithmic axis").wait_for()
    ends = page.evaluate("() => lab.risk.axes().y.domain")
    assert before / 200 < ends[0] < before
    page.locator("#log-risk").click()
    page.wait_for_function("() => !/logarithmic/.test(document.querySelector('#legend').innerText)")


@pytest.mark.slow
def test_lists_of_problems_are_parted_and_open(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    groups = page.eval_on_selector_all("#open optgroup", "all => all.map(one => one.label)")
    assert groups == ["fresh samples", "figures of the gallery", "problems that fail on purpose"]
    page.select_option("#open", label="A quick one")
    page.wait_for_function("() => lab.problem().training.learning_rate === 5")
    page.select_option("#open", label="plain: a kind of data")
    page.wait_for_function("() => lab.problem().training.learning_rate === 2")


@pytest.mark.slow
def test_names_of_regions_stand_inside_them_and_nothing_of_an_old_diagram_stays(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "exact")
    part = json.dumps(phase_of(df.Problem()))
    page.evaluate(f"() => {{ window.phasePart = {part}; }}")
    page.evaluate("() => lab.take(window.phasePart)")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#observable option')].some(o => o.value === 'phase diagram')"
    )
    page.select_option("#observable", label="phase diagram")
    for width, height in ((1280, 720), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        boxes = page.eval_on_selector_all(
            "#phase .region-name", "all => all.map(one => [one.textContent, one.getBBox().width])"
        )
        assert len(boxes) >= 2
        corners = page.evaluate(
            """() => [...document.querySelectorAll('#phase .region-name')].map(one => {
            const frame = document.querySelector('#phase .frame').getBoundingClientRect(), box = one.getBoundingClientRect();
            return [box.left - frame.left, frame.right - box.right, box.top - frame.top, frame.bottom - box.bottom]; })"""
        )
        assert min(map(min, corners)) > -1
    assert page.locator("#meaning").inner_text().startswith("Here: ")
    page.evaluate("() => lab.take({ part: 'phase', sentence: 'There is no such diagram.' })")
    page.wait_for_function("() => document.querySelector('#phase').childElementCount === 0")
    assert page.locator("#meaning").inner_text() == "There is no such diagram."


@pytest.mark.slow
def test_lines_over_one_number_of_the_problem_have_its_point(tab, fake_page):
    page = tab(fake_page)
    wait_for_curve(page, "sgd")
    page.wait_for_function("() => !lab.film.running()")
    sketch = {"part": "sketch", "title": "learning curve", "meaning": "risk against noise", "label": "noise"}
    sketch |= {"path": "data.noise", "x": [1e-4, 1e-3, 0.01], "lines": {"exact": [1e-4, 1e-3, 0.01]}}
    page.evaluate(f"() => lab.take({json.dumps(sketch)})")
    page.wait_for_function("() => document.querySelectorAll('#observable option').length > 1")
    page.select_option("#observable", label="learning curve")
    page.wait_for_function("() => document.querySelector('#meaning').innerText === 'Risk against noise'")
    assert page.locator("#side-legend").inner_text().split("\n") == ["exact", "this problem", "real SGD"]
    before = pixels(page, "#side-plot")
    slider(page, "data.noise").press("ArrowRight")
    page.wait_for_function("() => lab.problem().data.noise !== 0.001 && lab.store.all().some(one => one.real)")
    settle(page)
    assert pixels(page, "#side-plot") != before
