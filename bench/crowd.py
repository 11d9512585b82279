#!/usr/bin/env python3
"""One user who opens as many connections to a controller as told, and opens again what is closed: for bench/beside.sh.

   crowd.py SOCKET COUNT SECONDS

Run as root it goes on as nobody, so that it is somebody else than who measures. At its end it says how many stood at most and how many
were closed.
"""
import os
import pwd
import resource
import select
import socket
import sys
import time


def dial(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    try:
        connection.connect(path)
    except OSError:  # the controller's queue is full, or it is gone
        connection.close()
        return None
    return connection


def main():
    path, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, max(count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    poll = select.epoll()
    standing, most, closed, refused = {}, 0, 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(min(200, count - len(standing))):
            connection = dial(path)
            if connection is None:
                refused += 1
                break
            standing[connection.fileno()] = connection
            poll.register(connection, select.EPOLLRDHUP)
        most = max(most, len(standing))
        for fd, _ in poll.poll(0.01, 1000):
            poll.unregister(fd)
            standing.pop(fd).close()
            closed += 1
    print(f"crowd: at most {most} of {count} connections stood, {closed} were closed, {refused} not taken", file=sys.stderr)


main()
