"""Formats of columns: Arrow files and streams, Parquet, and objects in memory that give Arrow columns."""
