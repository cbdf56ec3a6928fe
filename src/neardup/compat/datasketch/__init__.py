"""datasketch's sketches and indexes by its names, parameters and meaning, with its values, on neardup's kernels.

A program changes one import: ``from neardup.compat.datasketch import MinHash, MinHashLSH``. The modules have
datasketch's names too, such as ``neardup.compat.datasketch.lsh``. What differs is in docs/howto/datasketch.md.

    minhash           MinHash: sketch of a set; ``hashfunc`` its hashes, ``_schemes`` its permutations
    lean_minhash      LeanMinHash: the same, frozen, with datasketch's bytes
    b_bit_minhash     bBitMinHash: the trailing bits of one
    weighted_minhash  WeightedMinHash and its generator: sketches of vectors
    hyperloglog       HyperLogLog, HyperLogLogPlusPlus: how many distinct values there were
    lsh               MinHashLSH: keys by bands; ``storage`` keeps them in memory or in a file
    lshforest         MinHashLSHForest: the k most similar keys
    lshensemble       MinHashLSHEnsemble: keys by containment

Not here: ``AsyncMinHashLSH``, ``MinHashLSHBloom``, ``HNSW``, and storage in Redis and Cassandra.
"""

from __future__ import annotations

from neardup.compat.datasketch.b_bit_minhash import bBitMinHash
from neardup.compat.datasketch.hashfunc import sha1_hash32, sha1_hash64
from neardup.compat.datasketch.hyperloglog import HyperLogLog, HyperLogLogPlusPlus
from neardup.compat.datasketch.lean_minhash import LeanMinHash
from neardup.compat.datasketch.lsh import MinHashLSH
from neardup.compat.datasketch.lshensemble import MinHashLSHEnsemble
from neardup.compat.datasketch.lshforest import MinHashLSHForest
from neardup.compat.datasketch.minhash import MinHash
from neardup.compat.datasketch.weighted_minhash import WeightedMinHash, WeightedMinHashGenerator

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "HyperLogLog",
    "HyperLogLogPlusPlus",
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "bBitMinHash",
    "sha1_hash32",
    "sha1_hash64",
]
