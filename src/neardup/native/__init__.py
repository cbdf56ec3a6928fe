"""Where kernels get their machine code: from one library that is built with the package, or from Numba.

``declare`` has the decorators of all kernels, which say for what types each is compiled. On Linux the build of a
package compiles them all (``build``, ``wrappers``, ``runtime.c``) into an extension module, which ``library`` loads in
less than a millisecond; then nobody needs Numba. Elsewhere, and in a checkout, ``jit`` has Numba compile each kernel
when it is first called. ``NUMBA_DISABLE_JIT=1`` runs kernels as the functions of Python that they are written as, and
``NEARDUP_NATIVE=0`` leaves the library out, when a package is built and when it is used.

docs/development/native.md tells how all this works, and what to do when Numba changes.
"""
