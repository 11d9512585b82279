"""Muster for those who train with another library's loop: `muster.adapters.lightning`, `muster.adapters.transformers`.

Each needs its library only when it is imported. A loop of one's own in plain torch takes `muster.pytorch.LoopState`.
"""
