"""Pages: plain JSON values, which ``tasks.report`` and ``tasks.compare`` gather, in; HTML that opens from disk out."""
