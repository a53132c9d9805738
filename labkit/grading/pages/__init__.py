"""Pages for people: one for each student, one about the class; templates and style beside them."""
