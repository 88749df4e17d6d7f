"""What a person looks at: figures that draw results and compute nothing."""
