"""axe-core, which checks pages for accessibility: the script's text, from the cache or else from the
package that carries it. Its hash is pinned, so that nothing else is run."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "axe-playwright-python==0.1.8"  # axe-core 4.12.1
SCRIPT = "axe_playwright_python/axe.min.js"
SCRIPT_SHA256 = "84494fec757e4710dc751c8d7a636e457f4532f08f85c86dc9070133fbff53bc"
CACHE = Path(os.environ.get("SNUG_CACHE") or Path.home() / ".cache/snug") / "axe"


def _is_right(data):
    return hashlib.sha256(data).hexdigest() == SCRIPT_SHA256


def script():
    """The text of axe.min.js; raises OSError with one sentence if it cannot be had."""
    cached = CACHE / f"{SCRIPT_SHA256[:16]}.js"
    if cached.exists() and _is_right(cached.read_bytes()):
        return cached.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="snug-axe-") as folder:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--only-binary", ":all:", "--dest", folder, PACKAGE],
                              capture_output=True, text=True, check=False, timeout=600)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            raise OSError(f"axe-core is not cached and the package {PACKAGE} cannot be downloaded: {done.stderr.strip()[-300:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            data = wheel.read(SCRIPT)
    if not _is_right(data):
        raise OSError(f"the axe-core in {PACKAGE} is not the one whose hash is pinned")
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = cached.with_suffix(f".{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(cached)  # the final name never holds half a file
    return data.decode("utf-8")
