"""Smooth fits that can be asked: a Gaussian process whose posterior says how sure every slope is."""
