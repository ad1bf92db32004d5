"""Kinds of runs, one file a subject: each module lists its specs in ``KINDS`` and its sweeps in ``PRESETS``."""
