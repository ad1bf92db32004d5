"""One file a subject; each lists its claims in CLAIMS."""
