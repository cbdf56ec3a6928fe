"""Clean copies of input files.

outputs    what the copies of a run are called
writer     all of them together, file by file resumable
files      one copy; cuts lines out of text as it is stored
replace    other texts in records of text
annotate   three more fields in records of text
parquet, ipc, columnar  the same in columns
xlsx       the same in spreadsheets
blocks     a text file as blocks of whole lines
feed       which lines, from the file's own reader
model      what a rewrite is told; what is known of the texts, held against them while they are read again
"""
