"""Whether a training script really goes on where it was interrupted: `python -m muster.certify train.py`."""
