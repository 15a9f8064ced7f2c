"""dimfree: what will SGD do? Real training of two-layer networks beside every limit theory that applies."""

import os
import sys

# float64 is part of the contract (docs/conventions). Setting the variable keeps `import dimfree` free of jax.
os.environ["JAX_ENABLE_X64"] = "1"
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
