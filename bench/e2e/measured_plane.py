"""The control plane that the benchmarks of this folder measure. Import it before the harness, which it
puts on Python's path."""

import contextlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from harness.controlplane import ControlPlane, build_programs  # noqa: E402


@contextlib.contextmanager
def measured_plane(audited=False, **options):
    """A running ControlPlane, which is stopped in any case. An audit log costs the API server time. `options`: more of the
    ControlPlane's."""
    programs = build_programs()
    if programs is None:
        raise SystemExit("Go 1.26 or later is missing and cannot be installed")
    plane = ControlPlane(programs, deployed=("rbac.yaml",), audited=audited, **options)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()
