"""What a mistake of the user gives: the right error, the words that programs look for, memory as it was."""
