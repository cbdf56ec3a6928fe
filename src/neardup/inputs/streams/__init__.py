"""Bytes of files, pipes and compressed files, cut into buffers of whole lines."""
