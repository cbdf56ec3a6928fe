"""Doors for programs that were written for another library: the same names, on neardup's kernels."""
