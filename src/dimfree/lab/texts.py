"""A problem as text to keep: TOML for the command line, or Python."""

from dimfree.errors import ProblemError
from dimfree.problem import Problem, dumps

_PYTHON = '''import dimfree as df

problem = df.loads("""
{toml}""")
comparison = df.compare(problem)
print(comparison.summary())
comparison.plot("comparison.png")
'''


def as_text(problem: Problem, form: object) -> str:
    """The problem as TOML, or as a Python program that compares its accounts."""
    toml = dumps(problem)
    if form == "toml":
        return toml
    if form == "python":
        return _PYTHON.format(toml=toml.replace("\\", "\\\\"))
    raise ProblemError(f"a problem is written as 'toml' or 'python', not as {str(form)[:40]!r}.")
