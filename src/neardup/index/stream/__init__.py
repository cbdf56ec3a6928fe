"""Lines of a stream that are new, let through as they come: ``Index.dedup_stream`` and the command of that name.

    lines      inputs that may pause, cut into lines; the documents in them
    admitting  documents added if they are new, a step of a thousand at a time
    outputs    where the lines go: a pipe, or a file that loses and doubles none; the table of removed documents
    run        these three together, one chunk of lines after the other

A line is written when its document is durable in the index, so a process that is killed can owe lines and never lets
one through twice.
"""
