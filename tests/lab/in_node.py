"""Functions of the page's scripts, run by node on data of a test: one process for all cases of a test."""

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest

_ANSWER = """
const script = require(process.argv[1]);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
process.stdout.write(JSON.stringify((%s)(script, given), plain));
"""


def answered(script: str, function: str, given: object) -> Any:
    """What a JavaScript function of the page's script and of plain data returns."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and the page's scripts need a JavaScript engine")
    path = str(files("dimfree.lab").joinpath("page", script))
    call = [node, "-e", _ANSWER % function, path]
    told = subprocess.run(call, input=json.dumps(given), capture_output=True, text=True, timeout=300, check=False)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)
