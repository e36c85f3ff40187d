"""The resources that mirror GPU shares, and the parameters of the policy that adds them to pods."""

from . import manifests
from .api import ApiError
from .processes import wait_until

MILLI, MEMORY = "snug.dev/gpu-milli", "snug.dev/gpu-memory-mib"
PARAMETERS = "/apis/snug.dev/v1/mirrorparameters/snug"


def units(quantity):
    """The API server writes 4000 as 4k. None for None."""
    if quantity is None:
        return None
    digits = quantity.rstrip("kMGT")
    return int(digits) * 1000 ** " kMGT".index(quantity[len(digits):] or " ")


def serve_parameters(admin):
    """Makes the API server know the kind of the parameters."""
    def served():
        try:
            return admin.get(PARAMETERS.rpartition("/")[0])
        except ApiError:
            return None
    manifests.apply(admin, "mirror-parameters.yaml")
    wait_until("the parameters' kind is served", served)
