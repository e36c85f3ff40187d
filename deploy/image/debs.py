"""Debian packages as files: their control data, and which of their contents the image takes."""

import functools
import hashlib
import io
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

# What no program reads in a container: documentation, translations, conversions between character sets.
LEFT_OUT = re.compile(r"usr/share/(?!doc/[^/]+(/copyright)?$)|usr/lib/[^/]+/gconv/|usr/s?bin/|s?bin/")
# Of these packages only some files are data; the others belong to the system of a whole Debian.
ONLY = {
    "base-files": re.compile(r"(usr/lib|etc)/os-release$|etc/debian_version$|usr/share/doc/base-files/copyright$"),
    "ca-certificates": re.compile(r"usr/share/ca-certificates/mozilla/|usr/share/doc/ca-certificates/copyright$"),
}
# Plug-ins of libsasl2, which only LDAP would load; Snug has no LDAP.
UNUSED = {"libdb5.3", "libsasl2-modules-db"}


@dataclass
class Package:
    """One .deb. `control` is its paragraph, `fields` the same as a dictionary."""
    path: Path
    control: str
    fields: dict
    sha256: str

    @property
    def name(self):
        return self.fields["Package"]

    @property
    def version(self):
        return self.fields["Version"]

    @property
    def source(self):
        """(name, version) of the source package."""
        match = re.fullmatch(r"(\S+)(?: \((\S+)\))?", self.fields.get("Source", self.name))
        return match[1], match[2] or self.version

    @functools.cached_property
    def members(self):
        """(TarInfo, bytes) of each file and link that the image takes; paths have no leading ./"""
        found = []
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", self.path], check=True, stdout=subprocess.PIPE)
        with tarfile.open(mode="r:", fileobj=io.BytesIO(data.stdout)) as archive:
            for member in archive:
                member.name = member.name.removeprefix("./")
                wanted = ONLY[self.name].match(member.name) if self.name in ONLY \
                    else not LEFT_OUT.match(member.name)
                if wanted and not member.isdir():
                    found.append((member, archive.extractfile(member).read() if member.isfile() else b""))
        return found


def read(path):
    control = subprocess.run(["dpkg-deb", "--field", path], check=True, text=True, stdout=subprocess.PIPE).stdout
    fields = dict(re.findall(r"^(\S+): (.*)$", control, re.M))
    return Package(path, control, fields, hashlib.sha256(path.read_bytes()).hexdigest())


def read_folder(folder):
    """The packages of the image, by name, from a folder of .debs."""
    found = [read(path) for path in sorted(Path(folder).glob("*.deb"))]
    return sorted((package for package in found if package.name not in UNUSED), key=lambda each: each.name)
