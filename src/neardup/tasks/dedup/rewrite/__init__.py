"""Clean copies of input files.

    outputs ── files ──┬─ text ──────┬─ blocks ── codes      bytes of lines, as they are stored
                       ├─ annotate ──┴─ feed                 which lines, from the file's own reader
                       ├─ parquet ─┬─ columnar
                       ├─ ipc ─────┘
                       ├─ copying                            text files, one document each
                       └─ sink                               counting and compressing

``rewrite_file`` makes one copy; ``OutputSet`` decides what the copies of a run are called, and ``CleanWriter`` writes
them so that they appear together.
"""
