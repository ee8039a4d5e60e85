"""What is tracked over adstack's history. Every file imports on commits that lack what it measures."""
