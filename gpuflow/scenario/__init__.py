"""What was asked: scenario files, catalogues and their frozen values."""
