"""What the limits of overlaps are not derived for, said in one place."""

from dimfree.onepass.rule import OnePassModel


def not_derived(model: OnePassModel) -> str | None:
    """Why the equations of the overlaps do not hold for this network or training rule, in one sentence."""
    if model.beyond_square:
        return square_only(model.beyond_square)
    if model.offsets:
        return (
            "it is derived for neurons without offsets; set network.bias_start = 0 and leave 'bias' out of "
            "network.trained, or use sgd, chain or pde."
        )
    if not model.train_w:
        return (
            "it is derived for a first layer that learns; put 'first-layer' into network.trained, or use sgd or chain."
        )
    if model.noisy:
        return "it is derived without noise on the weights; leave out training.inverse_temperature, or use sgd or pde."
    if model.all_scheduled and (float(model.omega) or float(model.omega_a)):
        return "it is derived for decays that do not follow the schedule; set training.scheduled = 'gradient'."
    return None


def square_only(given: str) -> str:
    """The refusal of whatever is derived for the square loss of values alone."""
    return f"it is derived for the square loss of values with Gaussian noise, not for {given}; use sgd or chain."
