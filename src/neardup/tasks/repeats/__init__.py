"""What repeats inside a collection, for all tasks that look for it: a run, its spans and its cuts, written.

run        one run from inputs to streams of spans and of texts without them
settings   what it is told             selection  which passages are wanted
unit_runs  runs of whole units         chains     passages that stand again with changes
spans      the table of spans          cutting    what is cut of which document
decided    cuts, to be written         copies     clean copies of the inputs
summary    what is counted             overview   what weighs most
groups     what repeats in each group  second     what repeats in what is left
places     spans by their passages     census     the passages that weigh most
heaviest   the same in little memory  phrases    what was asked for, in words

``neardup.passages`` is in ``tasks.passages``, the step of ``dedup`` in ``tasks.dedup.passage_step``. How repeats are
found is in ``engine.repeats``, what is cut in ``stages.repeats``.
"""
