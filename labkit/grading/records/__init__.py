"""What is kept and counted: roster, gradebook, marks given by hand, rules, and the sheets that follow from them."""
