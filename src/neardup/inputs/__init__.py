"""Readers: from what the user gave to batches of documents, and what is known of each document beside its text.

    formats    the table of formats: the suffixes and the reader of each
    reader     everything that was given, as one collection     resolve    a path, glob or folder → sources
    walk       the files of a folder                            passed     what a folder holds and is not read
    peek       which of them hold no texts                      addresses  what is no file of this machine
    packed     what unpacks the bytes of files
    archives   members of zip and tar                           warc       pages of web archives
    mailbox    e-mail as an archive                             unread     refuses what cannot be read at all
    stream     bytes of files and pipes, unpacked, as UTF-8     blocks     the same cut into whole lines
    splits     pieces that other machines can read              ranges     the lines that begin in some bytes of a file
    text       lines, JSONL, delimited files                    columnar   Arrow, Parquet, and objects that speak Arrow
    documents  PDF, DOCX, ODT, RTF, mail …, in child processes   folder     a folder of texts, one document each
    datasets   what the library ``datasets`` saved              python     lists, dicts and other iterables
    names      ids and places of all documents of a run

A reader is made of sources (``source``); a source gives tasks, and a task, when called, one ``Batch`` (``batches``).
"""
