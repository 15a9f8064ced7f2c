"""The server of the lab: what it answers, which answer wins, and whom it refuses."""

import json
import re
from pathlib import Path
from threading import Event
from urllib.parse import quote

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from serving import TINY, TOKEN, answers, asked, running, tiny

import dimfree as df
from dimfree import lab
from dimfree.comparison.budget import plan
from dimfree.comparison.compare import compared
from dimfree.comparison.run import starts_of
from dimfree.lab import session
from dimfree.lab.experiment import experiment
from dimfree.lab.live import BUDGET, prepared
from dimfree.lab.serve import is_loopback, serve
from dimfree.lab.shelf import hello_of, plain_problem
from dimfree.lab.texts import as_text
from dimfree.progress import nobody
from dimfree.registry import candidates, description, setting_of
from dimfree.results import record
from stages import gating

SMALL = {
    "teacher": {"dimension": 30, "data": {"units": 1}, "network": {"width": 2}},
    "linear-teacher": {
        "dimension": 20,
        "data": {"kind": "linear-teacher"},
        "training": {"loss": "square", "weight_decay": 0.1},
    },
    "hypercube": {
        "dimension": 20,
        "data": {"kind": "hypercube"},
        "network": {"width": 8},
        "training": {"learning_rate": 10.0},
    },
    "two-gaussians": {"data": {"kind": "two-gaussians"}, "network": {"width": 4}},
    "clusters": {"dimension": 30, "data": {"kind": "clusters"}, "network": {"width": 2}},
    "two-clusters": {"dimension": 20, "data": {"kind": "two-clusters"}, "training": {"weight_decay": 0.3}},
    "given-points": TINY,
}


@pytest.fixture(scope="module")
def server():
    with running(tiny()) as one:
        yield one


@pytest.fixture
def client(server):
    yield server.enter()
    server.cookie = None


@pytest.fixture
def socket(client):
    with client.socket() as one:
        yield one


def small(kind: str) -> df.Problem:
    return df.Problem(**{**SMALL[kind], "run": TINY["run"]})


@pytest.mark.parametrize("kind", gating(SMALL, ["given-points"]))
def test_every_setting_answers_with_curves_runs_and_a_verdict(socket, kind):
    problem = small(kind)
    parts = asked(socket, id=1, ask="solve", problem=plain_problem(problem))
    curves = {one["name"]: one for one in parts if one["part"] == "curve"}
    assert curves
    assert not [one for one in parts if one["part"] == "error"]
    for one in curves.values():
        assert one["times"] == problem.times.tolist()
        assert len(one["risk"]["mean"]) == len(one["times"])
        for name, seen in one["observables"].items():
            assert len(seen["values"]) == len(one["times"])
            assert all(len(row) == np.prod(seen["shape"], dtype=int) for row in seen["values"])
            assert one["variables"][name]["meaning"]
    parts = asked(socket, id=2, ask="simulate", problem=plain_problem(problem))
    points = [one for one in parts if one["part"] == "points"]
    assert points[-1]["from"] + len(points[-1]["times"]) == len(problem.times)
    assert points[-1]["real"]
    verdict = next(one for one in parts if one["part"] == "verdict" and not one["running"])
    assert verdict["reference"] == points[-1]["name"]
    assert {one["name"] for one in verdict["rows"]} == curves.keys()


@pytest.mark.slow
def test_numbers_are_those_of_compare():
    """The same start to the last bit, the same SGD, the same verdict; theories within the tolerance of their solver."""
    problem = small("teacher")
    with running(problem) as server, server.enter().socket() as socket:
        curves = asked(socket, id=1, ask="solve", problem=plain_problem(problem))
        parts = asked(socket, id=2, ask="simulate", problem=plain_problem(problem))
    points = [one for one in parts if one["part"] == "points"]
    titles = [one["name"] for one in curves if one["part"] == "curve"]
    comparison = compared(problem, {}, [points[0]["name"], *titles], None, nobody, None)
    for one in (one for one in curves if one["part"] == "curve"):
        data = comparison.accounts[one["name"]]
        np.testing.assert_allclose(one["risk"]["mean"], data["risk"].mean("replica"), rtol=1e-5)
    ode = next(one for one in curves if one.get("name") == "ode")
    assert np.ravel(comparison.accounts["ode"]["M"].values[0, 0]).tolist() == ode["observables"]["M"]["values"][0]
    run = comparison.accounts[points[0]["name"]]["risk"].mean("replica").values.tolist()
    assert [risk for one in points for risk in one["risk"]["mean"]] == run
    verdict = next(one for one in parts if one["part"] == "verdict" and not one["running"])
    assert {one["name"]: one["sentence"] for one in verdict["rows"]} == comparison.verdicts()


@pytest.mark.slow
def test_the_same_seed_gives_the_start_of_compare():
    problem = df.Problem(dimension=301, run={"seed": 7})
    ready = prepared(problem)
    (expected,) = starts_of(problem, plan(problem, candidates(problem), 60.0).chosen)
    np.testing.assert_array_equal(ready.starts[0].weights, expected.weights)
    assert ready.starts[0].weights.shape == (6, 301)


@pytest.mark.slow
def test_moved_numbers_compile_nothing_and_another_dimension_one_product():
    """Rates, noise and the seed, from the message to the last warning; another dimension multiplies vectors of another length."""
    compiled: list[str] = []
    listening = [True]
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if listening[0] and "backend_compile" in event else None
    )
    jax.jit(lambda x: x + 1)(0.0)
    assert compiled, "nobody listens"
    problem = small("teacher").replace(**{"dimension": 300})
    with running(problem) as server, server.enter().socket() as socket:
        asked(socket, id=1, ask="solve", problem=plain_problem(problem))  # compiles, unless another test has done so
        moved = {"training.learning_rate": 0.8, "data.noise": 0.02, "run.seed": 3}
        for number, (dimension, most) in enumerate({300: 0, 301: 1, 420: 1}.items(), start=2):
            compiled.clear()
            there = problem.replace(**moved, dimension=dimension)
            parts = asked(socket, id=number, ask="solve", problem=plain_problem(there))
            assert {one["name"] for one in parts if one["part"] == "curve"} >= {"ode", "gradient-flow"}
            assert len(compiled) <= most, dimension
    listening[0] = False


def test_what_refuses_says_why_in_place(socket):
    parts = asked(socket, id=1, ask="solve", problem={"data": {"kind": "nothing"}})
    assert [one["part"] for one in parts] == ["error", "done"]
    assert "nothing" in parts[0]["sentence"]


def test_a_failing_computation_is_a_sentence(socket, monkeypatch):
    def fails(*_):
        raise FloatingPointError("seven is not eight")

    monkeypatch.setattr(session, "solved", fails)
    parts = asked(socket, id=1, ask="solve", problem=plain_problem(tiny()))
    assert [one["part"] for one in parts] == ["error", "done"]
    assert "seven is not eight" in parts[0]["sentence"]
    assert asked(socket, id=2, ask="hello")[0]["answer"]["served"]


def test_the_last_position_wins(socket, monkeypatch):
    """Of many questions that come while one is worked on, only the last is answered; the others end as cancelled."""
    begun, released, worked = Event(), Event(), []

    def slow(ready, accounts, stop):
        worked.append(ready.run.seed)
        yield {"part": "warning", "name": "slow", "sentence": "first"}
        begun.set()
        assert released.wait(30)
        if stop():
            raise session.StoppedError
        yield {"part": "warning", "name": "slow", "sentence": str(ready.run.seed)}

    monkeypatch.setattr(session, "prepared", lambda problem: problem)
    monkeypatch.setattr(session, "solved", slow)
    for seed in range(10):
        socket.send(json.dumps({"id": seed, "ask": "solve", "problem": plain_problem(tiny(**{"run.seed": seed}))}))
        if seed == 0:
            assert begun.wait(300)
    socket.send(json.dumps({"id": 99, "ask": "hello"}))  # once it is answered, all questions before it were heeded
    ended = {}
    while 99 not in ended:
        one = json.loads(socket.recv(timeout=300))
        ended[one["id"]] = one
    released.set()
    while 9 not in ended or ended[9]["part"] != "done":
        one = json.loads(socket.recv(timeout=300))
        ended[one["id"]] = one
    assert all(ended[seed]["cancelled"] for seed in range(9))
    assert "cancelled" not in ended[9]
    assert worked == [0, 9]


def test_cancel_ends_a_run_and_sliders_go_on_beside_it(socket, monkeypatch):
    begun = Event()

    def endless(ready, accounts, stop):
        while not stop():
            begun.set()
            yield {"part": "warning", "name": "sgd", "sentence": "a step"}
        raise session.StoppedError

    monkeypatch.setattr(session, "prepared", lambda problem: problem)
    monkeypatch.setattr(session, "simulated", endless)
    monkeypatch.setattr(session, "solved", lambda *_: iter([{"part": "warning", "name": "ode", "sentence": "a curve"}]))
    problem = plain_problem(tiny())
    socket.send(json.dumps({"id": 1, "ask": "simulate", "problem": problem}))
    assert begun.wait(300)
    assert [one["part"] for one in asked(socket, id=2, ask="solve", problem=problem)] == ["warning", "done"]
    socket.send(json.dumps({"id": 3, "ask": "cancel", "target": 1}))
    assert answers(socket, 1)[-1]["cancelled"]


def test_controls_and_changes(socket):
    told = asked(socket, id=1, ask="controls", problem={"dimension": 77})[0]["answer"]
    assert told["problem"]["dimension"] == 77
    assert {one["path"] for one in told["controls"]} > {"dimension", "training.learning_rate", "data.kind"}
    change = {"data.kind": "hypercube"}
    told = asked(socket, id=2, ask="controls", problem=told["problem"], change=change)[0]["answer"]
    assert told["problem"] == plain_problem(df.Problem(dimension=77, data={"kind": "hypercube"}))
    told = asked(socket, id=3, ask="controls", problem=told["problem"], change={"data.kind": "two-clusters"})[0][
        "answer"
    ]
    assert (told["problem"]["data"]["kind"], told["problem"]["dimension"]) == ("two-clusters", 77)


def test_texts_can_be_read_again(socket):
    problem = tiny()
    toml = asked(socket, id=1, ask="text", problem=plain_problem(problem), **{"as": "toml"})[0]["answer"]
    assert df.loads(toml) == problem
    program = asked(socket, id=2, ask="text", problem=plain_problem(problem), **{"as": "python"})[0]["answer"]
    found: dict = {}
    exec(program.partition("comparison =")[0], found)
    assert found["problem"] == problem


def test_a_page_runs_no_code_and_reads_no_file(socket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("start.npz", W=np.zeros((4, 300)), Wstar=np.zeros((2, 300)))
    for values, said in (
        ({"network": {"activation": "os:getcwd"}}, "names code"),
        ({"training": {"loss": {"function": "os:getcwd"}}}, "names code"),
        ({"data": {"kind": "hypercube", "coefficients": {"os:getcwd": 1.0}}}, "names code"),
        ({"start": {"kind": "weights", "file": "start.npz"}}, "names a file"),
        ({"data": {"covariance": {"file": "/etc/hostname"}}}, "names a file"),
        ({"data": {"kind": "table", "labels": "sign"}}, "names a file"),
    ):
        parts = asked(socket, id=1, ask="solve", problem=values)
        assert [one["part"] for one in parts] == ["error", "done"]
        assert said in parts[0]["sentence"]
    told = asked(socket, id=2, ask="controls", problem={}, change={"data.covariance.file": "x.npy"})[0]
    assert "names a file" in told["sentence"]


def test_a_page_may_name_what_the_command_line_named(tmp_path):
    weights = tmp_path / "start.npz"
    rng = np.random.default_rng(0)
    np.savez(weights, W=rng.standard_normal((4, 12)), Wstar=np.sqrt(12) * np.eye(2, 12))
    problem = df.Problem(dimension=12, start={"kind": "weights", "file": weights}, network={"activation": jnp.tanh})
    with running(problem) as server, server.enter().socket() as socket:
        told = asked(socket, id=1, ask="controls", problem=plain_problem(problem))[0]["answer"]["problem"]
    assert told == plain_problem(problem)
    assert told["network"]["activation"].endswith(":tanh")


def test_sizes_are_bounded(socket):
    for values, said in (
        ({"network": {"width": 10**7}}, "network.width"),
        ({"run": {"points": 50_000}}, "run.points"),
        ({"run": {"replicas": 10**9}}, "run.replicas"),
        ({"run": {"starts": 65, "replicas": 65}}, "run.starts"),
        ({"data": {"terms": [[1]] * 30_000}}, "values"),
    ):
        assert said in asked(socket, id=1, ask="solve", problem=values)[0]["sentence"]


def test_a_start_is_drawn_for_what_can_be_run_and_not_beyond_memory(socket, monkeypatch):
    """What a page asks for must not fill the memory before anything is refused."""
    asked_for: list[frozenset[str]] = []
    draw = record.shared_start
    monkeypatch.setattr(
        "dimfree.comparison.run.shared_start",
        lambda problem, chosen, key: asked_for.extend(one.needs for one in chosen) or draw(problem, chosen, key),
    )
    prepared(df.Problem(network={"width": 20_000}))  # too wide for all that need vectors or pairs
    assert asked_for
    assert not any(asked_for)
    huge = {"dimension": 10**8, "data": {"kind": "two-gaussians"}, "network": {"width": 100_000}}
    for ask in ("solve", "simulate"):
        (told,) = [one for one in asked(socket, id=1, ask=ask, problem=huge) if one["part"] == "error"]
        assert "GB of memory" in told["sentence"]


def test_seeds_and_dimensions_have_the_bounds_of_the_model(socket):
    for values in ({"run": {"seed": 2**63 - 1}}, {"dimension": 10**12}):
        assert "answer" in asked(socket, id=1, ask="text", problem=values, **{"as": "toml"})[0]


def test_no_token_and_wrong_tokens_are_refused(server):
    for path in ("/", "/app.js", "/?token=", "/?token=wrong", f"/?token={TOKEN}x", f"/?token=x&token={TOKEN}"):
        assert server.get(path).status == 403, path
    assert server.get(f"/app.js?token={TOKEN}").status == 403
    assert server.get(f"/?token={TOKEN.upper()}").status == 403
    assert server.upgrade() == 403
    assert server.upgrade(f"/socket?token={TOKEN}") == 403
    for cookie in (f"{server.name}=wrong", f"dimfree-lab-{server.port + 1}={TOKEN}", TOKEN, f"{server.name}"):
        assert server.get("/", cookie=cookie).status == 403, cookie
        assert server.upgrade(cookie=cookie) == 403


def test_the_token_becomes_a_cookie_that_other_sites_cannot_send(server):
    answer = server.get(f"/?token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert server.get("/", cookie=cookie.partition(";")[0]).status == 200
    assert server.upgrade(cookie=cookie.partition(";")[0]) == 101


def test_foreign_hosts_and_origins_are_refused(client):
    assert client.get("/").status == 200
    port = client.port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1:1",
        "127.0.0.1",
        f"127.0.0.1:{port}.evil.example",
        f"[::2]:{port}",
    ):
        assert client.get("/", host=host).status == 421, host
        assert client.upgrade(host=host) == 403, host
    origins = (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        f"http://localhost:{port}",
    )
    for origin in origins:
        assert client.get("/", origin=origin).status == 403, origin
        assert client.upgrade(origin=origin) == 403, origin
    assert client.upgrade(origin="") == 403
    assert client.upgrade() == 101
    assert client.get("/", sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403
    assert client.get("/", host=f"localhost:{port}").status == 200


def test_paths_lead_to_files_of_the_page_only(client):
    assert client.get("/app.js").status == 200
    tricks = (
        *(
            "/../server.py",
            "/..%2fserver.py",
            "/%2e%2e/%2e%2e/__init__.py",
            "/page/app.js",
            "//etc/passwd",
            "/__init__.py",
        ),
        *(
            "/app.js%00.css",
            "/....//app.js",
            "/download/../app.js%2f",
            "/download/shell",
            "/index.html",
            "/%5c..%5cserver.py",
        ),
    )
    for path in tricks:
        assert client.get(path).status == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert client.get("/", method).status == 405


def test_headers_close_the_page(client):
    policy = client.get("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert set(re.findall(r"(?:https?|wss?)://[^ ;]+", policy)) == {f"ws://127.0.0.1:{client.port}"}
    for path in ("/", "/app.js", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"


def test_so_many_pages_and_no_more(client, monkeypatch):
    monkeypatch.setattr("dimfree.lab.server.MOST_SOCKETS", 2)
    with client.socket() as one, client.socket() as other:
        assert asked(one, id=1, ask="hello")
        assert asked(other, id=1, ask="hello")
        assert client.upgrade() == 403
        assert asked(one, id=2, ask="hello")


@pytest.mark.slow
def test_downloads_are_what_compare_writes(client, tmp_path):
    values = json.dumps(plain_problem(tiny()))
    answer = client.get(f"/download/netcdf?problem={quote(values)}")
    assert answer.status == 200
    (tmp_path / "found.nc").write_bytes(answer.content)
    with xr.open_datatree(tmp_path / "found.nc", engine="h5netcdf") as tree:
        assert tree.attrs["digest"] == tiny().digest
        assert len(tree.children) > 1
    figure = client.get(f"/download/figure?problem={quote(values)}")
    assert figure.content.startswith(b"\x89PNG")


def test_a_download_that_fails_is_a_sentence(client):
    for values in ("", "{", "[]", '{"data": {"kind": "nothing"}}', "[" * 2000):
        answer = client.get(f"/download/netcdf?problem={quote(values)}")
        assert answer.status == 422
        assert answer.content.endswith(b".\n")


def test_a_step_that_no_page_can_follow_has_a_sentence(client):
    asking = quote(json.dumps(plain_problem(tiny())))
    for path, said in (
        (
            f"/magnifier?problem={asking}",
            "one step cannot be shown: SGD of this problem is not followed in few overlaps.",
        ),
        ("/magnifier", "ends with ?problem="),
    ):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.content.startswith(b"onmessage = () => postMessage(")
        assert said in answer.content.decode()


def test_the_shelf_holds_problems_and_reasons():
    hello = hello_of(df.Problem(), served=False)
    assert hello["problem"] == plain_problem(df.Problem())
    assert len(hello["gallery"]) > 10
    listed = [(one["group"], one["problem"]["data"]["kind"]) for one in hello["settings"]]
    assert listed == [(one.name, kind) for one in df.settings() for kind in one.kinds("data")]
    for one in hello["settings"]:  # also where two settings know one kind of data
        assert setting_of(df.Problem(**one["problem"])).name == one["group"]
    for one in (*hello["gallery"], *hello["presets"], *hello["settings"]):
        assert plain_problem(df.Problem(**one["problem"])) == one["problem"]
        assert as_text(df.Problem(**one["problem"]), "toml")
        assert one["title"]
    assert all(one["why"].endswith(".") for one in hello["presets"])


PRESETS = {one["name"]: one for one in hello_of(df.Problem(), served=True)["presets"]}
REFUSED = {"rate-too-large": "one step is as large", "unstable": "rate", "no-variance": "has no variance"}


@pytest.mark.parametrize("name", REFUSED)
def test_presets_are_refused_for_the_reason_that_they_name(name):
    chosen = PRESETS[name]
    (left,) = plan(df.Problem(**chosen["problem"]), [description(chosen["fails"])], BUDGET).left_out
    assert REFUSED[name] in left.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRESETS.keys() - REFUSED.keys()))
def test_theories_of_presets_do_not_hold(name):
    """By the verdict beside real SGD, which the page shows."""
    problem, fails = df.Problem(**PRESETS[name]["problem"]), PRESETS[name]["fails"]
    shown, _ = experiment(prepared(problem))
    found = df.compare(problem, only=[shown, fails])
    assert found.grades()[fails] == "does not hold"


def test_who_can_reach_an_address():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [True] * 3 + [
        False
    ] * 2


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("dimfree.lab.serve.find_spec", lambda name: None)
    with pytest.raises(df.ProblemError, match=re.escape("pip install 'dimfree[lab]'")):
        serve(df.Problem(), "127.0.0.1", 0, False, print)


def test_another_host_comes_with_a_warning_of_what_it_exposes(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    serve(tiny(), "0.0.0.0", 0, False, said.append)
    assert "run computations on this machine" in said[0]
    assert "token=" in said[1]
    said.clear()
    serve(tiny(), "127.0.0.1", 0, False, said.append)
    assert len(said) == 1


def test_only_the_server_needs_the_extra():
    """A page is saved, and the command starts, without the packages of the server."""
    needing = {
        path.name
        for path in Path(lab.__file__).parent.rglob("*.py")
        if re.search(r"^(from|import) starlette", path.read_text(), re.MULTILINE)
    }
    assert needing == {"guard.py", "server.py", "session.py"}
    importing = {
        path.name
        for path in Path(lab.__file__).parent.rglob("*.py")
        if re.search(r"^from dimfree\.lab\.(guard|server|session) import", path.read_text(), re.MULTILINE)
    }
    assert importing <= needing
