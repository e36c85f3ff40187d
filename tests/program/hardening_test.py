"""The programs' ELF headers and code: what the flags of SNUG_HARDEN in CMakeLists.txt leave there."""

import platform
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import EXTENDER, SNUGCTL

X86 = platform.machine() == "x86_64"


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
        for program in (EXTENDER, SNUGCTL):
            with self.subTest(program.name):
                self.assertEqual([name for name, has in mitigations(program).items() if not has], [])

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
