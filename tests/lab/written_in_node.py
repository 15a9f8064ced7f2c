"""Written JavaScript, run by node on data of a test: one process for all cases of a test. Or by a browser."""

import json
import shutil
import subprocess
from typing import Any

import pytest

_ANSWER = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"), (_, x) => (x === "NaN" ? NaN : x));
const rerun = require("vm").runInThisContext;
rerun(given.text);
%s
process.stdout.write(JSON.stringify(rerun(given.call)(given.data), plain));
"""
_PLAIN = (
    "const plain = (_, x) => (ArrayBuffer.isView(x) ? Array.from(x, y => (Number.isFinite(y) ? y : String(y))) : x);"
)
_IN_TAB = "([text, call, data]) => { %s (0, eval)(text); return JSON.stringify((0, eval)(call)(data), plain); }"


def answer_of(text: str, call: str, data: object) -> Any:
    """What a JavaScript function of plain data returns, where a script has defined what it calls."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and written JavaScript needs an engine")
    asked = json.dumps({"text": text, "call": f"({call})", "data": data})
    told = subprocess.run(
        [node, "-e", _ANSWER % _PLAIN], input=asked, capture_output=True, text=True, timeout=300, check=False
    )
    assert told.returncode == 0, told.stderr[-2000:]
    return json.loads(told.stdout)


def answer_in_tab(page: Any, text: str, call: str, data: object) -> Any:
    """The same in a tab of a browser."""
    return json.loads(page.evaluate(_IN_TAB % _PLAIN, [text, f"({call})", data]))
