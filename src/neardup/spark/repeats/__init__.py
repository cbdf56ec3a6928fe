"""Repeated passages on a cluster: as ``engine.repeats`` finds them on one machine, with its kernels.

job       what all tasks know                    stored    texts in files that all see, read here and there
reading   splits are read                        anchors   anchors meet by key, and become pieces
segments  pieces meet by chunk of the text, and become segments
search    the stages in their order              run       a run as ``tasks.repeats.run``, searched by a cluster
opening   from options to a run                         public    ``neardup.spark.passages``
"""
