"""Model files: mechanisms and scenes as text, read without executing anything."""
