"""What was handed in: found, named, read, and what is odd about it."""
