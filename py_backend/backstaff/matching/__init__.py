"""Which of the files below a directory match a query, and which of these are the best.

A `query` is asked of an `index` of what a survey found. It looks for `words`; `ranking` tells which
paths have them best.
"""
