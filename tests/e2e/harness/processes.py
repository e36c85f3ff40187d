"""Processes that are surely ended, ports that are free, and waits that have an end."""

import errno
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

TAIL_LINES = 25


_given_ports = set()  # whose programs may not listen yet


def free_port():
    """A TCP port on which no process listens at this moment, and another one for each call. The kernel gives it to no
    connection where net.ipv4.ip_local_port_range begins above 20000: it is still free when the program that is to have it
    starts later."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(10000, max(first, 20000))
    for port in random.sample(ports, 100):
        if port in _given_ports:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                _given_ports.add(port)
                return port
    raise RuntimeError(f"of 100 ports from {ports.start} to {ports.stop - 1} all are in use")


# How many times longer than on an idle machine a wait may take. tests/run.sh runs builds and other tests beside these.
PATIENCE = int(os.environ.get("SNUG_PATIENCE", "1"))


def bound(seconds):
    """What a time may be in which something must happen on an idle machine."""
    return seconds * PATIENCE


def wait_until(what, condition, seconds=30.0, every=0.05):
    """Returns the first truthy value of condition(); raises TimeoutError with `what` as text. `seconds`: more than enough on
    an idle machine."""
    seconds = bound(seconds)
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(every)


def wait_a_moment(seconds=0.1):
    """Between two tries, or two requests of a load that is to last."""
    time.sleep(seconds)


def output_of(command):
    """(exit code, standard output) of a program that ends by itself."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def all_output_of(command, env, text, seconds=60):
    """(exit code, both outputs in one) of a program that reads `text`, and ends in time."""
    done = subprocess.run(command, input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **env}, text=True, check=False, timeout=seconds * PATIENCE)
    return done.returncode, done.stdout


def tail(path, lines=TAIL_LINES):
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


class Process:
    """One program in a process group of its own, with its output in two files of `folder`."""

    def __init__(self, name, command, folder, env=None):
        self.name = name
        self._terminated = False
        folder = pathlib.Path(folder)
        self.stdout = folder / f"{name}.out"
        self.stderr = folder / f"{name}.err"
        # The kernel ends the program with us, should we be killed before we can do it.
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with open(self.stdout, "wb") as out, open(self.stderr, "wb") as err:
            self._popen = subprocess.Popen(
                guard + [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, env={**os.environ, **(env or {})}, start_new_session=True)

    def running(self):
        return self._popen.poll() is None

    def must_run(self):
        if not self.running():
            raise RuntimeError(f"{self.name} ended with {self._popen.returncode}:\n{self.tail()}")

    def cpu_seconds(self):
        """The processor time that it has used so far, in user and kernel mode."""
        fields = pathlib.Path(f"/proc/{self._popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def tail(self):
        return "\n".join(text for text in (tail(self.stdout), tail(self.stderr)) if text)

    def first_line(self, seconds=20.0):
        """The first whole line on stdout."""
        def read():
            self.must_run()
            line, newline, _ = self.stdout.read_text(errors="replace").partition("\n")
            return newline and line
        return wait_until(f"a line on stdout of {self.name}", read, seconds)

    def hang_up(self):
        """SIGHUP."""
        self._signal(signal.SIGHUP)

    def wait(self, seconds):
        """The exit code of a program that ends by itself."""
        return self._popen.wait(timeout=seconds * PATIENCE)

    def terminate(self):
        """SIGTERM, once: a second one makes kube-scheduler exit before it releases its Lease.
        stop() waits for the end."""
        if not self._terminated:
            self._terminated = True
            self._signal(signal.SIGTERM)

    def pause(self):
        """SIGSTOP: the program is paused, and its connections stay open."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def kill(self):
        """SIGKILL, and gone when this returns."""
        self._signal(signal.SIGKILL)
        self._popen.wait(timeout=10 * PATIENCE)

    def stop(self, seconds=10.0):
        """SIGTERM, then SIGKILL. Returns the exit code (negative: the signal)."""
        if self.running():
            self.terminate()
            try:
                self._popen.wait(timeout=seconds * PATIENCE)
            except subprocess.TimeoutExpired:
                pass
        self.kill()
        return self._popen.returncode

    def _signal(self, number):
        try:
            os.killpg(self._popen.pid, number)
        except ProcessLookupError:
            pass
