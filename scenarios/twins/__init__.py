"""The twins' summary statistics, made from the real tables by hand when an encoding changes.

``python -m scenarios.twins.lending TABLE``, and likewise ``hospital`` and ``fraud``, writes the
files that the package ships beside its twin.
"""
