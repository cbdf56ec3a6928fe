"""What is remembered of a run's documents beside their texts: ids, and the places they came from."""
