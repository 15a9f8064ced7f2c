"""Shared by all tests: shapes and types of the package are checked at run time, and hypothesis is kept short."""

from jaxtyping import install_import_hook

install_import_hook("dimfree", "beartype.beartype")

from hypothesis import settings  # noqa: E402

settings.register_profile("short", deadline=None, max_examples=25)
settings.load_profile("short")
