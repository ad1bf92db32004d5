"""Exact forms of finite functions, such as circuits and Walsh polynomials of Boolean ones. Needs no torch."""

from compsparse.representations import boolean as boolean
