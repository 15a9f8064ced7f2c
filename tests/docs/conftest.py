"""The browser in which tests open the site."""

from tabs import browser, tab  # noqa: F401
