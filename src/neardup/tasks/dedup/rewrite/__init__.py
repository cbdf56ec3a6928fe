"""Clean copies of input files.

collection ── outputs      what the copies of a run are called
           ── writer       all of them together, file by file resumable
                └─ files ──┬─ text ──────┬─ blocks ── line_ends      bytes of lines, as they are stored
                           ├─ annotate ──┴─ feed                     which lines, from the file's own reader
                           ├─ parquet ─┬─ columnar
                           └─ ipc ─────┘

model      what a rewrite is told and what it tells
known      what the run knows of the texts of a file, held against them while it is read again
"""
