"""``WeightedMinHashGenerator``: sketches of vectors of weights, which estimate the weighted Jaccard similarity."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError, SpecMismatch
from neardup.kernels import datasketch as kernels
from neardup.types import I64


class WeightedMinHash:
    """The samples of one vector; made by ``WeightedMinHashGenerator``, or from those of an earlier one.

    Args:
        seed: of the generator.
        hashvalues: int64[sample_size, 2], a dimension and a step of its weight each.
    """

    def __init__(self, seed: int, hashvalues: NDArray[Any]) -> None:
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """Estimate the sum of the lesser weights by that of the greater ones; the share of equal samples.

        Raises:
            SpecMismatch: seeds or numbers of samples differ.
        """
        for name, one, two in (("seed", self.seed, other.seed), ("sample_size", len(self), len(other))):
            if one != two:
                raise SpecMismatch(
                    f"the WeightedMinHashes differ in {name} ({one} and {two}). Make both with the same."
                )
        return float((self.hashvalues == other.hashvalues).all(axis=1).mean())

    def digest(self) -> NDArray[Any]:
        """A copy of the samples."""
        return self.hashvalues.copy()

    def copy(self) -> WeightedMinHash:
        """Another sketch of the same vector."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WeightedMinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]  # samples may be written to


class WeightedMinHashGenerator:
    """Makes sketches of vectors of one length, by consistent weighted sampling.

    Samples are those of datasketch's ``minhash``. A vector takes O(sample_size x dimensions above 0).

    Args:
        dim: dimensions of a vector.
        sample_size: samples of a sketch; the standard error of an estimate J is sqrt(J (1 - J) / sample_size).
        seed: which samples.

    >>> generator = WeightedMinHashGenerator(3, sample_size=256)
    >>> one, other = generator.minhash_many(np.array([[4, 2, 0], [4, 1, 1]]))
    >>> abs(one.jaccard(other) - 5 / 7) < 0.15
    True
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        if dim < 1 or sample_size < 1:
            raise InputError(f"dim is {dim} and sample_size {sample_size}. Give at least 1 of each.")
        self.dim, self.sample_size, self.seed = dim, sample_size, seed
        generator = np.random.RandomState(seed=seed)  # datasketch's samples come from this one
        shape = (sample_size, dim)
        self.rs = generator.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs = np.log(generator.gamma(2, 1, shape)).astype(np.float32)
        self.betas = generator.uniform(0, 1, shape).astype(np.float32)

    def minhash(self, v: Any) -> WeightedMinHash:
        """The sketch of one vector, [dim].

        Raises:
            InputError: its length is another; a weight is negative or not finite; all are 0.
            TypeError: it has no length.
        """
        if not isinstance(v, Sized):
            raise TypeError(f"the vector is a {type(v).__name__}. Give {self.dim} numbers.")
        weights = np.asarray(v, dtype=np.float32)
        if weights.shape != (self.dim,):
            raise InputError(f"the vector has the shape {weights.shape}. Give {self.dim} numbers.")
        (dimensions,) = np.nonzero(weights)
        (found,) = self._sketches(dimensions, weights[dimensions], np.array([0, dimensions.size]))
        if found is None:
            raise InputError("all weights of the vector are 0. Leave it out: it has no sketch.")
        return found

    def minhash_many(self, X: Any) -> list[WeightedMinHash | None]:  # noqa: N803  # datasketch's name
        """The sketches of the rows of a matrix, of NumPy or a sparse one of SciPy; None for a row of zeros.

        Raises:
            InputError: as ``minhash``.
            TypeError: it is no matrix.
        """
        if isinstance(X, np.ndarray):
            if X.ndim != 2:
                raise InputError(f"the matrix has {X.ndim} dimensions. Give rows of {self.dim} weights.")
            rows, dimensions = np.nonzero(X)
            weights = X[rows, dimensions]
            offsets = np.searchsorted(rows, np.arange(len(X) + 1))
        elif hasattr(X, "tocsr"):
            sparse = X.tocsr(copy=True)
            sparse.sum_duplicates()
            sparse.eliminate_zeros()
            offsets, dimensions, weights = sparse.indptr, sparse.indices, sparse.data
        else:
            raise TypeError(f"the matrix is a {type(X).__name__}. Give an array of NumPy or a sparse matrix of SciPy.")
        if X.shape[1] != self.dim:
            raise InputError(f"the matrix has {X.shape[1]} columns. Give {self.dim}.")
        return self._sketches(dimensions.astype(np.int64), weights.astype(np.float32), offsets.astype(np.int64))

    def _sketches(self, dimensions: I64, weights: NDArray[np.float32], offsets: I64) -> list[WeightedMinHash | None]:
        """Of vectors in CSR form."""
        if not (np.isfinite(weights) & (weights > 0)).all():
            wrong = weights[~(np.isfinite(weights) & (weights > 0))][0]
            raise InputError(f"a weight is {wrong}. Give numbers of at least 0.")
        values = np.empty((offsets.size - 1, self.sample_size, 2), dtype=np.int64)
        kernels.weigh(dimensions, np.log(weights), offsets, self.rs, self.ln_cs, self.betas, values)
        return [
            WeightedMinHash(self.seed, row.copy()) if size else None
            for row, size in zip(values, np.diff(offsets), strict=True)
        ]
