"""Support for the end-to-end tests: an unmodified control plane, the built extender, and checks.

Nothing in here imitates Kubernetes; every object goes through the real API server.
"""
