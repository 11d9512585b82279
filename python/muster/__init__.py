"""Muster for training code: `muster.core` says what happens to whoever runs it, `muster.pytorch` is a Trainer on top of it,
`muster.adapters` join other libraries' trainers to it, `muster.launch` starts the ranks, `muster.certify` proves resuming.

Standard library only at run time, so that it installs beside any training stack; PyTorch where `muster.pytorch` is imported.
"""

__version__ = "0.1.0"
