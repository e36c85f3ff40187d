"""Writes an SBOM in the form SPDX 2.3: the packages of an image, Snug, and the libraries compiled into it."""

import hashlib
import json
import re
from urllib.parse import quote

# Packages whose headers have code that is compiled into the programs.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libfmt-dev", "libprotozero-dev", "libsimdjson-dev",
               "libspdlog-dev", "libstdc++-12-dev", "libyaml-cpp-dev", "nlohmann-json3-dev", "prometheus-cpp-dev")
# What is linked into a program besides.
LINKED_IN = {"snug-gate": ("libc6-dev", "libgcc-12-dev")}
NAMESPACE = "https://snug.dev/spdx"


def identifier(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def purl(name, version, arch):
    return f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}?arch={arch}&distro=debian-12"


def licences(package):
    """The short names in a machine-readable copyright file of Debian, which are not those of SPDX."""
    for info, data in package.members:
        if info.name.endswith("/copyright"):
            return sorted(set(re.findall(r"^License: *(\S.*?) *$", data.decode(errors="replace"), re.M)))
    return []


class Document:
    def __init__(self, name, version, created, arch, digest):
        self.name = name
        self.version, self.created, self.arch, self.digest = version, created, arch, digest
        self.packages, self.relations = [], []

    def _add(self, name, version, **more):
        """The package's identifier."""
        spdx = identifier(name, version)
        self.packages.append({"SPDXID": spdx, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
                              "filesAnalyzed": False, "copyrightText": "NOASSERTION",
                              "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", **more})
        return spdx

    def _relate(self, one, kind, other):
        self.relations.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    def _debian(self, name, version, **more):
        link = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": purl(name, version, self.arch)}
        return self._add(name, version, supplier="Organization: Debian", externalRefs=[link], **more)

    def _package(self, package):
        named, more = licences(package), {}
        if named:
            more["licenseComments"] = f"Debian's copyright file names: {', '.join(named)}"
        return self._debian(package.name, package.version, **more,
                            sourceInfo="built from the source package {} {}".format(*package.source),
                            checksums=[{"algorithm": "SHA256", "checksumValue": package.sha256}])

    def _program(self, path):
        return self._add(path.name, self.version, primaryPackagePurpose="APPLICATION", licenseDeclared="Apache-2.0",
                         checksums=[{"algorithm": "SHA256",
                                     "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}])

    def text(self, packages, programs, headers):
        """`packages` are in the image; `headers` is a file of `name[:arch] version` lines from the build."""
        image = self._add(f"{self.name}-image", self.version, primaryPackagePurpose="CONTAINER",
                          checksums=[{"algorithm": "SHA256", "checksumValue": self.digest.removeprefix("sha256:")}])
        self._relate("SPDXRef-DOCUMENT", "DESCRIBES", image)
        for package in packages:
            self._relate(image, "CONTAINS", self._package(package))
        own = {path.name: self._program(path) for path in programs}
        for program in own.values():
            self._relate(image, "CONTAINS", program)
        seen = {name.split(":")[0]: version for name, version in
                (line.split("\t") for line in headers.read_text().splitlines())}
        needed = {name: list(own.values()) for name in COMPILED_IN}
        needed |= {name: [own[program]] for program in LINKED_IN.keys() & own.keys() for name in LINKED_IN[program]}
        missing = [name for name in needed if name not in seen]
        if missing:
            raise SystemExit(f"sbom: the programs must be built on this machine, but it lacks {', '.join(missing)}")
        for name, those in needed.items():
            library = self._debian(name, seen[name])
            for program in those:
                self._relate(program, "STATIC_LINK", library)
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"{self.name}-{self.version}-{self.arch}",
            "documentNamespace": f"{NAMESPACE}/{self.name}-{self.version}-{self.arch}-{self.digest[7:]}",
            "creationInfo": {"created": self.created, "creators": ["Tool: snug deploy/image/sbom.py"]},
            "packages": self.packages, "relationships": self.relations}, indent=1) + "\n"
