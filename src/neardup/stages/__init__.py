"""The stages of the chain, one module each: arrays in, arrays out. ``engine`` puts them together.

text      normalisation            bands     buckets and candidate pairs
shingle   shingles and their sets  verify    the exact check
sketch    signatures               cluster   star and connected clusters
offsets   normalisation, traced    join      the exact join
passages  what two texts share     contain   the containment join
postings  sorted keys of an index  partners  partners of a sample
forms     Unicode forms
"""
