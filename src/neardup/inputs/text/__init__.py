"""Formats of lines: plain text, JSONL, CSV and its kin."""
