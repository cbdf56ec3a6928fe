"""The method on a few small documents, every step of it in a table.

Pure: values in, an ``Explanation`` out. ``model`` has its tables, ``documents`` turns texts, sets and matrices into
rows, ``functions`` has the orders and hash functions, ``build`` runs the method, ``text`` lays it out for reading. Not
here: reading files (``neardup.cli``), and the method as it runs over a collection (``neardup.pipeline``), which this
must agree with and shares no step with but the hashes.
"""

from neardup.explaining.build import build
from neardup.explaining.documents import MAX_DOCUMENTS, MAX_SHINGLES, Material, matrix, sets, texts
from neardup.explaining.functions import MAX_FUNCTIONS, first_place
from neardup.explaining.model import Bucket, Document, Explanation, Function, Pair, Row, Slot, Step

__all__ = [
    "MAX_DOCUMENTS",
    "MAX_FUNCTIONS",
    "MAX_SHINGLES",
    "Bucket",
    "Document",
    "Explanation",
    "Function",
    "Material",
    "Pair",
    "Row",
    "Slot",
    "Step",
    "build",
    "first_place",
    "matrix",
    "sets",
    "texts",
]
