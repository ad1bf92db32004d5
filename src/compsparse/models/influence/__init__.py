"""Which inputs and modules of a function matter, and which pairs act together."""
