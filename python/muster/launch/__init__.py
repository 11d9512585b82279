"""Starting the ranks of a training: on this node, on the nodes of a job, by torch's conventions, DeepSpeed's or MPI's.

`python -m muster.launch.torch_distributed train.py`, `.deepspeed`, `.mpi`; each says more with --help.
"""
