"""The parameters of a run, parsed and checked once, and the spec that every artefact carries.

    checks    defaults, known names, and the checks of single parameters
    spec      ``Spec``: what decides which pairs are found, with nothing left open; its parts; ``Keep``
    presets   settings for kinds of text under one name
    overlap   ``Overlap``: rules by which training data are held apart from test data
    options   ``SearchOptions``, ``InputOptions``, ``RunOptions``: what is asked for, as it was given

Choosing bands from a recall target is in ``tuning``; what the parameters do is in the stages. Nothing here imports
NumPy or kernels, so that ``neardup --help`` stays instant.
"""

# each module lists in its ``__all__`` what it has for others
from neardup.params.checks import *  # noqa: F403
from neardup.params.options import *  # noqa: F403
from neardup.params.overlap import *  # noqa: F403
from neardup.params.presets import *  # noqa: F403
from neardup.params.spec import *  # noqa: F403
