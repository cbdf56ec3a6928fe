"""The machine code of kernels: one library that is built with the package or, without it, Numba.

``declare`` has the decorators of all kernels, which state the types that each kernel is compiled for. On Linux the
build of the package compiles all kernels (``build``, ``compile``, ``wrappers``, ``runtime.c``) into an extension
module, which ``library`` loads in less than a millisecond, so users need no Numba. On other systems and in a checkout,
``jit`` has Numba compile each kernel at its first call. With ``NUMBA_DISABLE_JIT=1`` kernels run as plain Python, and
``NEARDUP_NATIVE=0`` switches the library off, both when a package is built and when it is used.

docs/development/native.md explains the design, and the steps to take for a new release of Numba.
"""
