"""The one place where the stages meet: from batches of documents to verified pairs and clusters of rows.

    collect     read, normalise, sketch: blocks of documents become a Collection
    copies      exact copies become one row with a weight
    candidates  bands → buckets → pairs that pass the estimate filter; hot buckets go to crowds
    crowds      hot buckets: leaders and their verified members
    leftovers   hot buckets: what the crowds leave, within a budget for each document
    check       exact similarity of candidate pairs, chunk by chunk
    expand      from representatives back to all rows
    run         all of it in order, rows in, rows out

Arrays and rows only: files and ids are in ``formats``, names and tables in ``api``.
"""
