"""The stages of the chain, one module each: arrays in, arrays out. ``engine`` puts them together.

text      normalisation            bands     buckets and candidate pairs
shingle   shingles and their sets  verify    the exact check
sketch    signatures               cluster   star and connected clusters
offsets   normalisation, traced    join      the joins
passages  what two texts share     partners  partners of a sample
postings  sorted keys of an index  forms     Unicode forms
"""
