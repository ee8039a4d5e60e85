"""The matrix of results, written for the terminal and as JSON, JUnit and HTML.

Imports adstack.conformance.harness and nothing of the compiler.
"""
