"""Numba kernels: one thread's work each, flat arrays in, preallocated or returned arrays out.

Nothing outside this folder imports numba, and nothing here is imported before a command needs it. All kernels are
module-level functions with ``cache=True, nogil=True``: a kernel made in a factory that closes over another dispatcher
never hits the cache. Threads come from the caller, over blocks of documents.

    bytes of text ── hashing ──► shingle hashes of a document ──┬─ sketching ──► signature
                                                               └─ sets ───────► sorted unique set ── overlap ──► J
    signatures ── banding ──► band keys ──► buckets ──► candidate pairs

``_bits`` has the machine words that numba lacks, ``jsonl`` and ``utf8`` serve the readers.
"""

from neardup.kernels._jit import is_compiled

__all__ = ["is_compiled"]
