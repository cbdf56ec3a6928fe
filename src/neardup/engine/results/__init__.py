"""What is made of verified pairs: clusters, pairs of all rows, shared passages."""
