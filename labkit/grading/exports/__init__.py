"""Marks and labs for other platforms: Canvas, Moodle, nbgrader, Gradescope."""
