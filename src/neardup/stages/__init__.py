"""The stages of the chain, one module each: arrays in, arrays out. They do not import each other; ``engine`` does.

text      normalisation            bands     buckets and candidate pairs
shingle   shingles and their sets  verify    the exact check
sketch    signatures               cluster   star and connected clusters
offsets   normalisation, traced    copies    exact copies spelled out
passages  what two texts share     postings  sorted keys of an index
salt      where keys lie in tables
"""
