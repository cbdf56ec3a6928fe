"""Every pair at or above a threshold, by similarity or containment, from an index of the rarest shingles."""
