"""Tables and files written whole or not at all.

write    tables as JSONL, CSV, Parquet        xlsx     tables as .xlsx
stdout   bytes to standard output, and what can go wrong there
atomic   files under a temporary name, renamed when complete
sink     streams that count and compress
renames  the end of a run, when all its outputs get their names together
"""
