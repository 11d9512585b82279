"""Muster for training code. `muster.core` is all there is yet: see its docstring.

Standard library only at run time, so that it installs beside any training stack.
"""

__version__ = "0.1.0"
