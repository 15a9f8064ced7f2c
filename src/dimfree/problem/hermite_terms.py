"""A polynomial of a few orthonormal directions as a problem writes it."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dimfree.problem.section import Section

_Link = Literal["terms", "staircase-2", "staircase-3", "staircase-4", "parity-2", "parity-3"]


class HermiteTerms(Section):
    """sum_n coefficients[n] prod_r He_{terms[n][r]}(z_r); a name ("staircase-3", "parity-2") stands for the terms."""

    link: _Link = "staircase-2"  # a named polynomial, or "terms" for one of your own
    terms: tuple[tuple[Annotated[int, Field(ge=0, le=20)], ...], ...] = ()  # of every term its degree in each direction
    coefficients: tuple[float, ...] = ()  # one per term

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """If terms are given, the link is "terms" even if it is left out."""
        given = super().spelled(values)
        return {**given, "link": "terms"} if "terms" in given and "link" not in given else given

    @model_validator(mode="after")
    def _not_constant(self) -> "HermiteTerms":
        if self.link != "terms":
            if self.terms or self.coefficients:
                raise ValueError(f"link = {self.link!r} already names the terms; leave out terms and coefficients.")
            return self
        if not self.terms:
            raise ValueError("terms is empty; give at least one Hermite multi-index such as terms = [[1, 0], [1, 1]].")
        if len({len(term) for term in self.terms}) != 1:
            raise ValueError("all terms need the same length, one degree per direction.")
        if self.coefficients and len(self.coefficients) != len(self.terms):
            raise ValueError(f"{len(self.coefficients)} coefficients for {len(self.terms)} terms; give one per term.")
        if all(sum(term) == 0 for term in self.terms):
            raise ValueError("the link is constant: no term has a positive degree, so there is nothing to learn.")
        if not any(c for term, c in zip(*self.expansion, strict=True) if sum(term)):
            raise ValueError(
                "the link is constant: all terms of positive degree have the coefficient 0, so there is nothing to learn; give "
                "one that is not 0."
            )
        return self

    @property
    def expansion(self) -> tuple[tuple[tuple[int, ...], ...], tuple[float, ...]]:
        """Multi-indices and coefficients, with names and defaults spelled out."""
        terms = self.terms
        if self.link != "terms":
            shape, size = self.link.rsplit("-", 1)
            k = int(size)
            rows = range(1, k + 1) if shape == "staircase" else (k,)
            terms = tuple(tuple(int(r < n) for r in range(k)) for n in rows)
        return terms, self.coefficients or (1.0,) * len(terms)

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return len(self.expansion[0][0])
