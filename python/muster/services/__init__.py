"""Programs that a controller's jobs run: TensorBoard and the files of a checkpoint, reached through it; files of checkpoints removed.

`python -m muster.services` runs the one that $MUSTER_SERVICE describes, a JSON object with its "kind". The controller sends this
package along with such a job, so that a node needs no more than Python and the program that is served.
"""
