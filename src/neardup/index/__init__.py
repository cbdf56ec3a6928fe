"""A living index: documents come and go, and each new one is asked "have I seen this?".

    store      Index: one class before all of it
    database   what is stored, durably; ``statements`` has the SQL
    segments   files of postings, derived from it; ``stages.postings`` makes and searches runs of them
    prepared   documents → keys, hashes, checksums
    views      what a process knows at one moment
    core       the parts of an open index; one transaction, on a view that is repaired if need be
    answers    keys → candidates → verified hits
    pairs      by the batch pipeline: of all documents, and of texts with those that contain them or are part of them
    changes    documents stored, removed, admitted if new
    retention  when documents were added, and the removal of old ones; ``ages`` reads what people write
    bulk       a whole collection at once
    upkeep     the tail becomes segments, segments are merged
    backup     a copy of it as of one moment, while it is in use
    checking   all of it read and verified
    folders    the folder, and who may write to it
    stream     the lines of a stream that are new, let through as they come
    outcomes   what all of this gives back

A document is stored in the database and gets a number. Its band keys, and the hash of its id, become postings: in
memory and in the table ``tail`` at first, later in a segment. A query finds candidates by postings and reads their
texts from the database, in one transaction; what is no longer there is no hit. So postings may be late in forgetting,
and everything but the database can be made again from it.
"""
