"""What is remembered of a run's documents beside their texts: ids, places, and what was wrong (provenance)."""
