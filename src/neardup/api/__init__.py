"""The Python face: from inputs to a result, one file a task.

Here the layers below are put together: ``formats`` reads, ``tuning`` chooses, ``pipeline`` finds; then rows get their
names back. The command line is a thin shell around the same runs. The public names are bound in ``neardup``.
"""
