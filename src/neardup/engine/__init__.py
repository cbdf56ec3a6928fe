"""From batches of documents to verified pairs and clusters of rows: the one place where the stages meet.

    reading   collection: read, normalise, sketch, and what is held of all documents; copies: exact copies as one;
              template: text that counts in no document
    banding   bands → buckets → candidate pairs, and what is done with hot buckets
    joins     every pair at or above a threshold, without banding: exact and containment
    pairing   which documents may form pairs, where not any two
    check     exact similarity of candidate pairs, chunk by chunk; sets of shingles in buffers
    results   from pairs of representatives to the pairs, clusters and passages of all rows
    run       all of it in order, rows in, rows out     state     what it knows as it goes on
    space     memory, and what is put on disk          observe   stages: timed, told, their memory released
    threads   work in threads, results in order

Arrays and rows only: files and names of documents are in ``inputs``, tables in ``outputs``.
"""
