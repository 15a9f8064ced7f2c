"""Which protocols of batches there are, and which numbers they allow (docs/theory/committee-dmft.md, section 1.2)."""

from typing import Literal, get_args

from dimfree.errors import ProblemError, suggest

Protocol = Literal["vanilla", "persistent", "cyclic", "reshuffle", "one-pass", "twice"]
PROTOCOLS: tuple[str, ...] = get_args(Protocol)
IN_GROUPS = ("cyclic", "reshuffle", "one-pass", "twice")  # the data set is cut into 1/b groups


def check_protocol(protocol: str, eta: float, b: float, tau: float, steps: int) -> None:
    """Refuse batches that do not exist, in the words of a problem."""
    if protocol not in PROTOCOLS:
        raise ProblemError(f"there is no protocol of batches {protocol!r}; {suggest(protocol, PROTOCOLS)}")
    if not 0 < b <= 1:
        raise ProblemError(f"training.batch_fraction is {b:g}, it must lie in (0, 1]; 1 is full batch.")
    if protocol == "persistent":
        shortest = max(eta, eta * (1 - b) / b)
        if not tau >= shortest * (1 - 1e-12):
            raise ProblemError(
                f"with training.batch_fraction = {b:g} and training.learning_rate = {eta:g} a persistence of {tau:g} needs "
                f"probabilities above one; set training.persistence to at least {shortest:g}, or leave it out."
            )
    if protocol in IN_GROUPS:
        groups = round(1 / b)
        if abs(groups * b - 1) > 1e-6:
            raise ProblemError(
                f"training.batch_fraction is {b:g}, but {protocol} batches cut the data set into equal groups; choose one over "
                f"an integer, such as 1/{max(groups, 1)} = {1 / max(groups, 1):.6g}."
            )
        most = {"one-pass": groups, "twice": 2 * groups}.get(protocol)
        if most is not None and steps > most:
            raise ProblemError(
                f"{protocol} batches of training.batch_fraction = {b:g} last for {most} steps, and run.until asks for {steps}; "
                "lower run.until, or lower training.batch_fraction and raise data.samples."
            )
