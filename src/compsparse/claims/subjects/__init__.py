"""One module a subject with its experiments, and beside it a TOML file that declares its claims."""
