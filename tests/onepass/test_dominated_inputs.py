"""Inputs with nearly all of their variance in one direction: what it means is said, and what to change."""

import dimfree as df
from dimfree.onepass.inputs.covariance import Features
from dimfree.onepass.pool import said_of_inputs


def told(**covariance):
    data = df.Teacher(covariance=Features(file="breast-cancer", **covariance))
    return " ".join(said_of_inputs(df.Problem(dimension=30, data=data)))


def test_what_a_dominated_spectrum_means_is_said():
    said = told(scale="common")
    assert "One direction has 98 % of the variance: it limits the learning rate, and the others learn" in said
    assert 'Try data.covariance.scale = "each".' in said


def test_other_spectra_are_not_called_dominated():
    assert "One direction" not in told(scale="each")
