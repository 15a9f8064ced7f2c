"""What beats SGD: experiments against theory with error bars, SGD's samples, words, and bad input."""

from math import inf

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree as df
from dimfree.cli.commands import app
from dimfree.questions.escape.link import label_of
from dimfree.questions.spectral.descent import descent
from dimfree.questions.spectral.question import QUESTION

WITHOUT_SGD = QUESTION.example().replace(**{"network.width": 2})  # its ODE is not compiled where it is not looked at


def truncated(y):
    return jnp.where(y <= 8, y + 1, 0.0)


def outcome(found, name):
    return next(one for one in found.outcomes if one.name == name)


def z_scores(one):
    """Also finite size counts: 0.01 of overlap, in quadrature."""
    return (one.measured.mean(axis=1) - one.predicted) / np.hypot(one.error, 0.01)


@pytest.fixture(scope="module")
def cubic():
    return df.spectral(link="he3", samples=(0.5, 1.0, 4.0), seeds=6)


@pytest.mark.slow
def test_experiments_agree_with_theory(cubic):
    linear, spectral = (outcome(cubic, name) for name in ("linear filter", "spectral"))
    assert (np.abs(z_scores(linear)) < 3).all()
    assert abs(z_scores(spectral)[-1]) < 3
    assert spectral.predicted[0] == 0 < spectral.measured[0].mean() < 0.1
    wrong = linear._replace(predicted=linear.predicted**2)
    assert (np.abs(z_scores(wrong)) > 3).all()


@pytest.mark.slow
def test_exponents_and_the_samples_of_sgd(cubic):
    assert (cubic.information, cubic.generative) == (3, 1)
    assert cubic.sgd.order == "d^2"
    problem = QUESTION.example()
    at_this_rate = problem.replace(**{"training.learning_rate": cubic.sgd.learning_rate, "run.until": 1e3})
    assert cubic.sgd.samples * 500 == pytest.approx(df.sample_complexity(at_this_rate).samples, rel=1e-6)
    assert df.sample_complexity(at_this_rate).generative == 1


@pytest.mark.slow
def test_words_numbers_and_figure(cubic, tmp_path):
    text = cubic.summary()
    assert "information exponent   3\ngenerative exponent    1: a vector of preprocessed labels" in text
    assert "SGD                    d^2 samples; by its ODE 7.4e+03 d to lose half of the risk" in text
    assert "linear filter          sees the direction at once, squared overlap 1/2 at 1.497 d" in text
    assert "spectral               sees the direction from 0.8025 d samples on" in text
    figure = cubic.plot(tmp_path / "spectral.png")
    assert len(figure.axes[0].lines) >= 5
    tree = cubic.to_tree()
    assert tree["linear-filter"]["measured"].shape == (3, 6)
    assert float(tree["spectral"]["threshold"]) == pytest.approx(0.80251, rel=1e-5)


def test_equal_seeds_give_equal_overlaps_and_samples_are_nested():
    one, same, other = (
        df.spectral(df.Problem(dimension=30, data=df.Teacher(units=1, activation="he1")), samples=s, seeds=2, seed=seed)
        for s, seed in (((1.0, 2.0), 3), ((2.0, 1.0), 3), ((1.0,), 4))
    )
    np.testing.assert_array_equal(one.outcomes[0].measured, same.outcomes[0].measured)
    assert not np.allclose(one.outcomes[0].measured[:1], other.outcomes[0].measured)
    assert "one unit and one direction on the sphere" in one.sgd


def test_a_link_that_no_matrix_shows():
    found = df.spectral(WITHOUT_SGD, link=lambda z: z**2 * jnp.exp(-(z**2)), budget=1e-9)
    assert (found.information, found.generative, found.outcomes) == (4, 4, ())
    assert "no vector or matrix of preprocessed labels shows the direction in O(d) samples" in found.summary()


@pytest.mark.slow
def test_weight_norm_and_noise_of_the_teacher_count():
    """y = 2 (3 g)² + noise is y/18 = g² + noise/18²."""
    data = df.Teacher(units=1, activation="square", second_layer=2.0, overlap=((9.0,),), noise=324.0)
    scaled = df.spectral(df.Problem(data=data), seeds=0)
    plain = df.spectral(df.Problem(data=df.Teacher(units=1, activation="square", noise=1.0)), seeds=0)
    assert outcome(scaled, "spectral").threshold == pytest.approx(outcome(plain, "spectral").threshold, rel=1e-6)
    assert outcome(plain, "spectral").threshold == pytest.approx(0.64659, abs=1e-5)
    tanh = df.Problem(data=df.Teacher(units=1, activation="tanh", second_layer=2.0, overlap=((4.0,),)))
    assert float(label_of(tanh)(jnp.asarray(0.5))) == pytest.approx(2 * np.tanh(1.0))
    index = df.Problem(data=df.MultiIndex(terms=((2,), (4,)), coefficients=(1.0, 0.5), noise=0.0))
    assert df.spectral(index, seeds=0).generative == 2


@pytest.mark.slow
def test_links_of_exponent_one_reach_half_of_the_risk():
    problem = QUESTION.example().replace(**{"data.activation": "he1", "network.activation": "he1"})
    found = descent(problem)
    assert found.order == "d"
    assert 0.1 < found.samples < 10


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"samples": "0,1"}, "samples = '0,1' were given; samples per dimension must be positive"),
        ({"samples": [-1.0]}, "must be positive"),
        ({"samples": []}, "must be positive"),
        ({"samples": "inf"}, "must be positive"),
        ({"samples": "many"}, "are not numbers"),
        ({"link": df.Polynomial(polynomial=(3.0,))}, "the labels say nothing of the direction"),
        ({"link": "square", "preprocessing": lambda y: y}, "not bounded from above"),
        ({"problem": df.Problem()}, "the target has 2 directions"),
    ],
)
def test_bad_input_is_one_sentence(arguments, part):
    with pytest.raises(df.ProblemError) as caught:
        df.spectral(**{"seeds": 0} | arguments)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_too_large_is_refused():
    with pytest.raises(df.RefusalError, match=r"dimension 3000 is too large .* seeds = 0"):
        df.spectral(QUESTION.example().replace(dimension=3000))
    with pytest.raises(df.RefusalError, match="raise the budget"):
        df.spectral(budget=0.01)


def test_the_command_line_takes_text_and_code_only_where_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_preprocessing.py").write_text("import jax.numpy as jnp\n\ndef cut(y):\n    return jnp.tanh(y)\n")
    command = [
        "spectral",
        "--set",
        "network.width=2",
        "--link",
        "square",
        "--samples",
        "1,2",
        "--seeds",
        "0",
        "--out",
        str(tmp_path),
    ]
    chosen = [*command, "--preprocessing", "own_preprocessing:cut"]
    refused = CliRunner().invoke(app, chosen)
    assert refused.exit_code == 2
    assert "names code" in refused.stderr
    allowed = CliRunner().invoke(app, [*chosen, "--allow-code"])
    assert allowed.exit_code == 0, allowed.output
    assert "given                  sees the direction from" in allowed.stdout
    assert (tmp_path / "spectral.png").exists()
    wrong = CliRunner().invoke(app, [*command[:3], "--samples", "a,b"])
    assert wrong.exit_code == 2


CASES = [
    (500, "he2", 0.0, None),
    (1000, "he2", 0.0, truncated),
    (700, "he3", 0.0, None),
    (1000, "he4", 0.0, None),
    (500, "relu", 0.0, None),
    (800, "he4", 0.5, None),
    (600, "sin", 0.1, None),
    (500, "tanh", 0.3, None),
]


@pytest.mark.slow
def test_many_experiments_have_no_systematic_sign():
    """Overlaps well above their thresholds; every case has fresh samples, and so has every number of samples."""
    scores = []
    for number, (d, link, noise, preprocessing) in enumerate(CASES):
        problem = WITHOUT_SGD.replace(dimension=d, **{"data.noise": noise, "data.activation": link})
        for alpha in (2.5, 5.0):
            found = df.spectral(
                problem, samples=[alpha], preprocessing=preprocessing, seeds=10, seed=100 * number + int(alpha)
            )
            for one in found.outcomes:
                if one.threshold < 0.7 * alpha < inf:
                    assert abs(z_scores(one)[0]) < 3.5, (d, link, noise, one.name, alpha, one.predicted, one.measured)
                    scores.append((one.measured.mean() - one.predicted[0]) / one.error[0])
    assert len(scores) >= 20
    assert abs(np.mean(scores)) < 4.5 / np.sqrt(len(scores)) + 0.5, scores
