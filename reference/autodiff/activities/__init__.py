"""Facts about a kernel that is differentiated.

activity.py  which values carry adjoints
needed.py    which memory the reverse pass may read; origins.py: where values come from
racing.py    races that can be proven, through which derivatives flow
May import: analysis, ir, errors.
"""
