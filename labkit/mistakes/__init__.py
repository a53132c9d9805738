"""Every mistake that the lab can name, one file for each step of the calculation.

To add one, write a function in the file of its step: its name is the id, its docstring what the
student reads, its parameters the quantities that it needs.
"""

from ..exercise import Mistake
from . import blocks, conduct, cross, hand, heads, mask, mix, scale, scores, softmax

MODULES = (scores, scale, mask, softmax, blocks, mix, heads, cross, hand, conduct)
MISTAKES: dict[str, Mistake] = {
    declared.id: declared for module in MODULES for declared in vars(module).values() if isinstance(declared, Mistake)
}
