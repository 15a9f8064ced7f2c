"""The page of errors: every class of `dimfree.errors`, its exit code, and what to do about it."""

import inspect

from builders.markdown import code, text

from dimfree import errors

REMEDIES = {
    "DimfreeError": "Catch this one to catch all of them: `except df.DimfreeError`. Its text is one sentence that says what was "
    "given, what was expected and what to change.",
    "ProblemError": "Change the key that the sentence names. `dimfree show problem.toml` reads a file without running anything, "
    "and [keys of a problem](schema.md) lists what each key takes.",
    "CodeError": "The file names a function as `module:function`, and reading it would run that module. If you trust it, write "
    "`--allow-code` at the command line or `df.load(path, allow_code=True)` in Python.",
    "RefusalError": "The theory is not derived for this problem; the sentence says why. Take another description "
    "(`dimfree show` lists those that apply), or change what the sentence names. `compare` leaves such descriptions out.",
    "DivergenceError": "Weights or overlaps became infinite. Lower `training.learning_rate`, or shorten `run.until` to the time "
    "before it happens; the sentence gives the time.",
    "OutputError": "A file could not be written or read: check the folder, its permissions and the space left. Nothing is left "
    "half-written: an old file is still there, and complete.",
    "DimfreeWarning": 'Nothing has to be changed for the run to go on. `warnings.simplefilter("error", df.DimfreeWarning)` makes '
    "errors of all warnings of dimfree.",
    "DimfreeDeprecation": "Write the name that the sentence gives; the former one goes on working for now.",
    "LeftBehindWarning": "With `--set` or `problem.replace` the kind of data changed, and keys that the new setting lacks were "
    "dropped. Write these keys anew, or begin with `dimfree new --data KIND`.",
    "PluginWarning": "A package that extends dimfree could not be loaded; everything else works. Update or uninstall the package "
    "that the sentence names.",
}


def page() -> str:
    """Every error and warning: what it means, and what to do."""
    parts = [
        "# Errors, and what to do about each",
        "Messages of dimfree are one sentence. At the command line there is no traceback; the exit code says which kind it was.",
    ]
    for name, found in vars(errors).items():
        if inspect.isclass(found) and issubclass(found, (Exception, Warning)) and found.__module__ == errors.__name__:
            parts.append(f"## {name}")
            parts.append(text(inspect.cleandoc(found.__doc__ or "")))
            if issubclass(found, errors.DimfreeError):
                parts.append(f"Exit code: {code(found.exit_code)}.")
            parts.append(f"**What to do.** {REMEDIES[name]}")
    return "\n\n".join(parts) + "\n"
