"""The same search on a cluster: Spark moves rows, the stages are those of one machine.

open       from options to a run
run        a run as ``session.Run``, searched by a cluster       search     the stages in their order
pieces     a job, its splits, their texts                        exchange   what a cluster does: map, exchange
cluster    Spark does it                                         storage    files that driver and workers see
reading    splits are read, normalised, sketched                 copies     exact copies
buckets    keys meet                                             crowds     hot buckets, on the driver
waiting    buckets that wait until crowds are known              checking   candidate pairs are checked
texts      texts on their way                                    known      what the driver knows of documents
work       what these steps have in common               again      documents are read again, for a clean-up
reread     the tasks of it, piece by piece                      rewriting  the clean copies
written    texts for tables, as people wrote them

Only documents that have copies or may have pairs come to be known to the driver, by numbers of their own in the same
order; what is decided for them is decided by the code of one machine, and so is the same.
"""
