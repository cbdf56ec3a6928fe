"""Documents in, a collection out: texts, signatures and bands of all documents, and which of them are copies."""
