"""Candidate pairs from buckets of equal bands, hot buckets included."""
