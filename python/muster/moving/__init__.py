"""Another cluster's history, read and sent: `python -m muster.moving`. README.md beside this file is the format of its records."""
