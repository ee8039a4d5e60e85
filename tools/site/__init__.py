"""The static site: `python -m adstack.tools.site FOLDER`, from the pages and the results that stand in the checkout.

pages: which pages there are, and where their links lead. figures: ratios out of results. history: what asv measured
over commits. plots: both as pictures, by matplotlib. tables, heap, gallery, api: pages made of results and sources.
front: the first page. build: all of it as Sphinx' source, Sphinx, and asv's pages. links: whether every link leads
somewhere.

Imports adstack's public API and click; Sphinx, furo, myst-parser and matplotlib, which the extra [site] installs, only
to build, so that pages, figures, tables and links are tested without them.
"""
