"""Small whole programs whose results are exact: integers, or numbers that floats hold exactly."""
