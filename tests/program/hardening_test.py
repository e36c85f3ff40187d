"""The programs' ELF headers and code: what the flags of SNUG_HARDEN in CMakeLists.txt leave there, and what the programs use of
libraries."""

import platform
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import AGENT, EXTENDER, FIRST_LINE, GATE, KUBECONFIG, MPS, ROOT, SNUGCTL, run, start

X86 = platform.machine() == "x86_64"
LIBRARIES = {"libc", "libcrypto", "libcurl", "libgcc_s", "libm", "libprometheus-cpp-core", "libsimdjson", "libspdlog", "libssl",
             "libstdc++", "libyaml-cpp"}
# Of OpenSSL, libcurl, zlib and glibc: what the CVEs of docs/vulnerabilities.md need.
UNUSED = re.compile(r"CMS_|PKCS7_|PKCS12_|OCSP_|OSSL_CMP|OSSL_CRMF|OSSL_QUIC|X509_CRL|DTLS|SSL_(CTX_)?dane|SSL_set_SSL_CTX|"
                    r"EVP_Cipher$|SM2|curl_easy_(pause|reset)|curl_ws_|curl_multi_socket|inflate|deflate|gz|crc32_|wordexp|"
                    r"strfmon|iconv|ungetwc|tdelete|gethostby|getnetby|ns_sprintrr|\w*scanf|fopen")


def output_of(*command):
    done = subprocess.run([str(word) for word in command], text=True, check=True, capture_output=True)
    return done.stdout


def mitigations(program):
    """{mitigation: whether the program has it}"""
    headers = output_of("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", program)
    imports = output_of("nm", "--dynamic", "--undefined-only", program)
    stack = re.search(r"GNU_STACK .* (\S+)\s+0x\w+$", headers, re.MULTILINE)
    found = {
        "position-independent": bool(re.search(r"Type:\s+DYN", headers) and re.search(r"FLAGS_1.*\bPIE\b", headers)),
        "relocations read-only": "GNU_RELRO" in headers,
        "symbols bound at start": bool(re.search(r"\(FLAGS\).*BIND_NOW", headers)),
        "stack not executable": stack is not None and "E" not in stack[1],
        "no segment writable and executable": not re.search(r"LOAD .* RWE ", headers),
        "no text relocation": "TEXTREL" not in headers,
        "no search path for libraries": not re.search(r"\((RPATH|RUNPATH)\)", headers),
        "stack protector": "__stack_chk_fail" in imports,
        "checked copies": bool(re.search(r"\b__(mem|str|v?snprintf|read|poll)\w*_chk\b", imports)),
    }
    if X86:
        code = output_of("objdump", "--disassemble=main", "--no-show-raw-insn", program)
        found["branch targets marked"] = bool(re.search(r"<main>:\n[^\n]*endbr64", code))
    return found


class HardeningTest(unittest.TestCase):
    def test_the_programs_have_every_mitigation(self):
        for program in (EXTENDER, SNUGCTL, AGENT, MPS):
            with self.subTest(program.name):
                self.assertEqual([name for name, has in mitigations(program).items() if not has], [])

    def test_the_gate_runs_on_any_host(self):
        """It needs no library and no linker of the host, and has the same mitigations."""
        headers = output_of("readelf", "--wide", "--program-headers", "--dynamic", GATE)
        self.assertNotRegex(headers, r"\(NEEDED\)|INTERP")
        lacks = {name for name, has in mitigations(GATE).items() if not has}
        self.assertEqual(lacks, {"stack protector", "checked copies"})  # read from what a program imports
        self.assertIn("__stack_chk_fail", output_of("nm", "--defined-only", GATE))

    def test_the_programs_use_nothing_that_open_vulnerabilities_need(self):
        for program in (EXTENDER, SNUGCTL, AGENT, MPS):
            with self.subTest(program.name):
                needed = re.findall(r"\(NEEDED\).*\[(.+?)\.so", output_of("readelf", "--wide", "--dynamic", program))
                self.assertEqual(set(needed) - LIBRARIES - {"ld-linux-aarch64"}, set())
                imports = [line.split()[-1].partition("@")[0]
                           for line in output_of("nm", "--dynamic", "--undefined-only", program).splitlines()]
                if program != MPS:  # what the test reads is there
                    self.assertIn("libcurl", needed)
                    self.assertIn("curl_easy_setopt", imports)
                self.assertEqual([name for name in imports if UNUSED.match(name)], [])

    def test_an_address_needs_no_dns(self):
        """With a search domain that makes a glibc with CVE-2026-8674 abort when it begins to resolve a name."""
        domain = {"LOCALDOMAIN": ".".join(["a" * 60] * 5)}
        if run("getent", "ahosts", "no-such.invalid", **domain).returncode != -signal.SIGABRT:
            self.skipTest("this glibc does not abort")
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="snug-hardening-"))
        config = Path(folder) / "config"
        config.write_text(KUBECONFIG)
        process = start(self, EXTENDER, "--kubeconfig", config, "--policy", ROOT / "policies/tight.yaml",
                        "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", **domain)
        _, admin = FIRST_LINE.fullmatch(process.stdout.readline()).groups()
        while "http://127.0.0.1:1 cannot be connected to" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        done = run(SNUGCTL, "top", "--server", f"http://{admin}", **domain)
        self.assertEqual((done.returncode, "cannot be connected to" in done.stdout), (0, False), done.stdout)
        self.assertIsNone(process.poll())

    def test_a_program_without_the_flags_lacks_them(self):
        """What the test reads is not there in every program."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="snug-hardening-"))
        source, program = Path(folder) / "plain.cpp", Path(folder) / "plain"
        source.write_text("#include <cstring>\n#include <cstdio>\n"
                          "int main(int n, char** v) { char b[8]; std::strcpy(b, v[n - 1]); std::puts(b); }\n")
        off = ["-O2", "-no-pie", "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE",
               "-Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/tmp"]
        output_of("g++", *(off if X86 else [flag for flag in off if "cf-" not in flag]), "-o", program, source)
        has = {name for name, has in mitigations(program).items() if has}
        self.assertEqual(has, {"no segment writable and executable", "no text relocation"})


if __name__ == "__main__":
    unittest.main()
