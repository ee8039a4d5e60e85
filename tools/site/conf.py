"""Sphinx' settings, which `build.py` copies into the source that it makes."""
# What it may say is Sphinx' own: https://www.sphinx-doc.org/en/master/usage/configuration.html

project = "adstack"
author = "The adstack developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "adstack"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
napoleon_use_ivar = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"
nitpicky = False
