"""Columns of the inputs beside the text, read in a second pass: by which documents are chosen, or told apart.

reread  the values of one column, from every format        values  values of one type, and their order
"""
