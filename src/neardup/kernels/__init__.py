"""Kernels: the compiled loops. Each does one thread's work, on flat arrays that it is given or returns.

Arrays that belong together are a NamedTuple. A kernel returns its fields as a plain tuple, and the caller makes the
NamedTuple: machine code does not call Python.

All kernels are module-level functions under the decorators of ``neardup.native.declare``, which say for what types they
are compiled. With ``NUMBA_DISABLE_JIT=1`` they run as plain Python. Nothing here is imported before a command needs it.
Threads come from the caller, over blocks of documents.

    bytes of text ── hashing ──► shingle hashes of a document ──┬─ sketching ──► signature
                                                               └─ verify ─────► sorted unique set ── verify ──► J
    signatures ── banding ──► band keys ──► buckets ──► candidate pairs
    verified pairs ── graph ──► clusters; ── copies ──► pairs of all copies

``anchors``, ``repeats`` and ``segments`` find the passages that a collection repeats, one after the other.
``joining``, ``containing`` and ``scanning`` find pairs by their rarest shingles, the last two with the table of
``rarest``; ``occurring`` finds what two texts share; ``postings`` is the lookup of the index; ``_bits`` has the machine
words that Numba lacks; ``jsonl``, ``delimited`` and ``utf8`` serve the readers, ``lines`` the writer, ``normal`` and
``forming`` the normalisation; ``classical`` has the sketches of the literature, ``datasketch`` those of that library,
for ``neardup.compat``.
"""
