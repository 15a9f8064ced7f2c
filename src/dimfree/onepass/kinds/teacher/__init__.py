"""Labels of a teacher, on Gaussian inputs with or without a covariance."""

from dimfree.onepass.kind import Kind
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher

KIND = Kind(
    sections=(
        Teacher,
        MultiIndex,
    ),
    model="dimfree.onepass.kinds.teacher.model:directions_model",
    start="dimfree.onepass.start:directions_start",
    recipe="dimfree.onepass.recipe:directions_recipe",
    figure="dimfree.onepass.figure:draw_directions",
    notes="dimfree.onepass.notes:said_of_directions",
)
