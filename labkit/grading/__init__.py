"""Grade a class: intake, sandbox, judge, gradebook, pages."""
