"""Programs that people run in a terminal."""

import codecs
import os
import pty
import struct
import subprocess
import threading
from fcntl import ioctl
from termios import TIOCSCTTY, TIOCSWINSZ

from programs import SECONDS

CTRL_C = b"\x03"


def take_terminal():
    """Makes stdin the terminal whose keys send signals to this process."""
    ioctl(0, TIOCSCTTY, 0)


class Terminal:
    """A process whose stdout is a terminal of (columns, rows). What it writes is collected."""

    def __init__(self, case, words, size, environment):
        master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.process = subprocess.Popen([str(word) for word in words], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=take_terminal,
                                        env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **environment})
        os.close(slave)
        self._master, self.text = master, ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        last = threading.Timer(SECONDS, self.process.kill)
        last.start()
        case.addCleanup(os.close, master)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        case.addCleanup(last.cancel)

    def read(self):
        """Whether more came."""
        try:
            data = os.read(self._master, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.text += self._decoder.decode(data)
        return bool(data)

    def read_until(self, wanted):
        while wanted not in self.text:
            if not self.read():
                raise AssertionError(f"{wanted!r} did not appear in {self.text!r}")

    def read_all(self):
        while self.read():
            pass
        return self.text

    def press(self, key):
        os.write(self._master, key)
