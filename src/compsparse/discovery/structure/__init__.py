"""What every strategy needs: trees from turns, modules of several channels, forests, paired statistics."""
