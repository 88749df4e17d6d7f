"""The experiments of the paper, each a short script with its constants on top."""
