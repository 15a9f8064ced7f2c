"""Other processes must find what the tests bring."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
