"""A clean collection: which documents go, why, and the inputs without them.

policy    which document of a cluster is kept     origins   sources and values of rows
run       the search, the table of removals, the copies
"""

from neardup.cleaning.policy import Policy, check_policy, open_protected
from neardup.cleaning.run import Cleaning, check_output, clean

__all__ = ["Cleaning", "Policy", "check_output", "check_policy", "clean", "open_protected"]
