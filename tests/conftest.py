"""Settings for all tests."""

from hypothesis import settings

# A busy machine is no failing test: speed is measured by the benchmarks alone.
settings.register_profile("labkit", deadline=None)
settings.load_profile("labkit")
