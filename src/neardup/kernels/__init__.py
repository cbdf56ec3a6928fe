"""Numba kernels: one thread's work each, flat arrays in, preallocated or returned arrays out.

Arrays that belong together are a NamedTuple: it costs 2 to 3 microseconds a call from Python, and nothing inside.
A kernel returns the fields as a plain tuple and its caller makes the NamedTuple: numba would call Python to make one,
and ends the process where an exception comes meanwhile, as Ctrl-C does.
``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python (``_jit``).

Nothing outside this folder imports numba, and nothing here is imported before a command needs it. All kernels are
module-level functions under the decorators of ``_jit``, which say for what types they are compiled; ``_kept`` finds the
machine code that came with the package or was compiled before, ``warm`` makes all of it, and ``announce`` tells who
waits for it. Threads come from the caller, over blocks of documents.

    bytes of text ── hashing ──► shingle hashes of a document ──┬─ sketching ──► signature
                                                               └─ verify ─────► sorted unique set ── verify ──► J
    signatures ── banding ──► band keys ──► buckets ──► candidate pairs
    verified pairs ── graph ──► clusters; ── copies ──► pairs of all copies

``anchors``, ``repeats`` and ``segments`` find the passages that a collection repeats, one after the other.
``joining``, ``containing`` and ``scanning`` find pairs by their rarest shingles, the last two with the table of
``rarest``; ``occurring`` finds what two texts share; ``postings`` is the lookup of the index; ``_bits`` has the machine
words that numba lacks; ``jsonl``, ``delimited`` and ``utf8`` serve the readers, ``lines`` the writer, ``normal`` the
normalisation;
``classical`` has the sketches of the literature, ``datasketch`` those of that library, for ``neardup.compat``.
"""
