"""The systems that comparison.py measures: how each says what a node has and what a pod asks for, and which
programs decide."""

from .dra import Dra, DraSpread
from .gpushare import Gpushare, GpushareUnlimited
from .snug import Snug, SnugWithoutPolicies
from .time_slicing import TimeSlicing

GIVEN = (Gpushare, GpushareUnlimited)  # whose programs comparison.py is given
SYSTEMS = {system.name: system for system in (Snug, SnugWithoutPolicies, TimeSlicing, Dra, DraSpread, *GIVEN)}
