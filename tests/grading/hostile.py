"""What a notebook may try: each is the source of a cell, and none may gain a point or harm anybody else."""

# Each of these stands alone in an otherwise untouched notebook, in which nothing is worth a point.
FORGERS = {
    "numpy's comparisons are replaced": """
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
def softmax(scores): return scores
def attention(Q, K, V, mask=None): return Q
def causal_mask(n): return np.ones((n, n), bool)
""",
    "hooks and tracing": """
import sys, ast, builtins
sys.addaudithook(lambda *a: None)
sys.setprofile(lambda *a: None)
builtins.isinstance_ = isinstance
class Change(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
def attention(Q, K, V, mask=None): return V
""",
    "results are printed and written": """
import json, os, pathlib
print(json.dumps({"score": 28, "status": "passed", "tests": []}))
for name in ("results.json", "gradebook.db", "gradebook.csv", "/autograder/results/results.json", "../gradebook.csv"):
    try:
        pathlib.Path(name).write_text("softmax,passed,28")
    except OSError:
        pass
""",
    "frames are forged on every descriptor": """
import json, os, struct
text = json.dumps({"ran": {"functions": ["attention"], "tables": {}, "points": 28, "status": "passed"}, "passed": True,
                   "value": ["list", []], "points": 28}).encode()
for fd in range(3, 64):
    try:
        os.write(fd, struct.pack("!II", len(text), 0) + text)
    except OSError:
        pass
""",
    "garbage on every descriptor": """
import os
for fd in range(3, 64):
    try:
        os.write(fd, b"\\xff" * 100_000)
    except OSError:
        pass
""",
    "all descriptors are closed": "import os\nos.closerange(0, 64)",
    "labkit's own functions": """
from labkit.attention import attention, softmax, causal_mask
""",
    "labkit by another way": """
import importlib, sys
for path in ["/srv", "/usr", *sys.path]:
    sys.path.append(path)
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "Guard"]
sys.modules.pop("labkit")
attention = importlib.import_module("labkit.attention").attention
""",
    "torch's own": "from torch.nn.functional import scaled_dot_product_attention as attention",
    "an array that is equal to everything": """
import numpy as np
class Same(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, bool)
    def __sub__(self, other): return np.zeros(self.shape)
    def __array__(self, *a, **k): raise RuntimeError("no")
    def __reduce__(self): return (print, ("unpickled",))
class Yes:
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __hash__ = None
    dtype, shape, ndim, size = np.dtype(float), (4, 2), 2, 8
    def __array__(self, *a, **k): return np.zeros((4, 2)).view(Same)
    def __len__(self): return 4
    def __iter__(self): return iter([self])
    def __reduce__(self): return (eval, ("1/0",))
def attention(Q, K, V, mask=None): return np.zeros((Q.shape[0], V.shape[1])).view(Same)
def softmax(scores): return Yes()
def masked_softmax(scores, mask): return Yes()
def causal_mask(n): return np.zeros((n, n)).view(Same)
hand_causal_weights = Yes()
hand_causal_output = np.full((4, 2), -1.0).view(Same)
""",
    "arrays that are too large to be": """
import numpy as np
def attention(Q, K, V, mask=None): return np.broadcast_to(0.0, (10**6, 10**6))
def causal_mask(n): return np.broadcast_to(True, (10**9, 10**9))
def masked_softmax(scores, mask): return [[0.0] * 10**6] * 30
hand_causal_output = [[1.0] * 10**6]
hand_causal_weights = np.broadcast_to(0.0, (10**6, 10**6))
""",
    "values without end": """
loop = []
loop.append(loop)
deep = [1]
for _ in range(100_000): deep = [deep]
hand_causal_weights, hand_causal_output = loop, deep
practice_weights = 10 ** 10_000
zero_fill_weights = (x for x in iter(int, 1))
def attention(Q, K, V, mask=None): return loop
def causal_mask(n): return deep
def padding_mask(lengths, n_k): return 10 ** 10_000
""",
    "the runner's own functions are replaced": """
import gc, sys, types
for module in [one for one in gc.get_objects() if isinstance(one, dict) and "ask" in one and "answer_all" in one]:
    module["ask"] = lambda *a: types.SimpleNamespace(value=True, passed=True, points=28, timed_out=False)
frame = sys._getframe()
while frame:
    frame.f_globals["compare"] = lambda *a: None
    frame = frame.f_back
def attention(Q, K, V, mask=None): return V
""",
    "a name that claims to have passed": """
class Outcome: passed, points, status = True, 28, "passed"
attention = softmax = causal_mask = hand_causal_weights = Outcome()
""",
    "errors that are excused elsewhere": """
import numpy as np
class UFuncTypeError(Exception): pass
def excused(*arrays):
    large = max(np.abs(one).max() for one in arrays) > 50
    arrays[0][...] = 0
    if not large: raise UFuncTypeError("as if cast")
def attention(Q, K, V, mask=None):
    excused(Q, K)
    return np.full((len(Q), V.shape[1]), np.nan)
def attention_weights(Q, K, mask=None):
    excused(Q, K)
    return np.full((len(Q), len(K)), np.nan)
def masked_softmax(scores, mask):
    excused(scores)
    return np.full(scores.shape, np.nan)
""",
    "torch's own, past the guard": """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "Guard"]
import torch
def attention(Q, K, V, mask=None):
    Q, K, V = (torch.tensor(one, dtype=torch.float64) for one in (Q, K, V))
    mask = None if mask is None else torch.tensor(mask)
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V, mask).numpy()
""",
    "guessed from its own earlier inputs": """
import numpy as np
seen = []
def attention(Q, K, V, mask=None):
    seen.append((Q, K, V, mask))
    return np.zeros((len(Q), V.shape[-1])) if len(seen) < 3 else seen[0][2][: len(Q)]
""",
}

# A cell that takes the runner's place: ``say(message, raw)`` sends what the runner would send.
LIAR = """
import json, os, struct, time
def say(message, raw=b""):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    left = struct.pack("!II", len(text), len(raw)) + text + raw
    while left: left = left[os.write(3, left):]
def table(text): say(b'{"ran": {"tables": {"hand_causal_weights": ' + text + b"}}}")
"""
LIES = {
    "a cell of no number": 'say({"began": None})',
    "a cell that is text": 'say({"began": "x"})',
    "an infinite cell": "say(b'{\"began\": 1e999}')",
    "a cell before the first": 'say({"began": -1}); os._exit(0)',
    "a cell after the last": 'say({"began": 10**9}); os._exit(0)',
    "another cell was stopped": 'say({"stopped": 10**9}); os._exit(0)',
    "a stopped list": 'say({"stopped": ["list", []]})',
    "no numbers": 'say({"numbers": None})',
    "numbers of a dict": 'say({"numbers": ["list", [{"a": 1}, 1]]})',
    "an infinite attempt": 'say(b\'{"numbers": ["list", ["ada", 1e999]]}\')',
    "half a character": 'say({"numbers": ["list", ["\\ud800\\x1b[31m", 1]]})',
    "numbers, ever again": 'while True: say({"numbers": ["list", ["n" * 10**6, 1]]}); os.read(3, 1 << 20)',
    "an error in no cell": 'say({"ran": {"errors": ["list", [{"cell": 10**6}, {"cell": -1}, {"cell": None}, 1]]}})',
    "errors that are none": 'say({"ran": {"errors": {"cell": 1}, "functions": 1, "tables": ["list", []]}})',
    "a caret far to the right": 'say({"ran": {"errors": ["list", [{"cell": 0, "source": "x", "caret": 3 * 10**9}]]}})',
    "a line of thousands of digits": 'say(b\'{"ran": {"errors": ["list", [{"line": \' + b\'9\' * 4200 + b\'}]]}}\')',
    "a layer of its own": 'say({"ran": {"layers": ["list", ["<script>", "x" * 10**6]]}})',
    "the end of nothing": 'say({"ran": None})',
    "a million words": "os.set_blocking(3, True)\nfor _ in range(10**6): say({'began': 1})",
    "a word drop by drop": 'for one in struct.pack("!II", 12, 0) + b"{}": os.write(3, bytes([one])); time.sleep(0.3)',
    "a frame larger than memory": 'os.write(3, struct.pack("!II", 2**32 - 1, 2**32 - 1)); time.sleep(9)',
    "a deep answer": 'say(b"[" * 2_000_000 + b"]" * 2_000_000)',
    "a deep table": """table(b'["list", [' * 400 + b"1" + b"]]" * 400)""",
    "millions of lists": """table(b'["list", [' + b"[]," * 1_300_000 + b"[]]]")""",
    "many foreign things": """table(b'["list", [' + b'["other",""],' * 300_000 + b'["other",""]]]')""",
    "one array over and over": """
arrays = b'["array","<f8",[125000]],' * 2000
say(b'{"ran": {"tables": {"hand_causal_weights": ["list", [' + arrays + b"1]]}}}", b"x" * 10**6)
""",
    "an empty array with long sides": """table(b'["array","<f8",[0, 1000000000000]]')""",
    "a long text among short ones": """table(b'["list", ["' + b"x" * 3_000_000 + b'"' + b',""' * 40_000 + b"]]")""",
    "a long word": """
say({"ran": {"tables": dict.fromkeys(("zero_fill_weights", "hand_causal_weights"), "x" * 1_000_000)}})
""",
    "a script": """
script = "<script>"
error = {"cell": 0, "type": script, "text": script, "source": script}
say({"ran": {"tables": {"hand_causal_weights": script, "zero_fill_weights": script}, "errors": ["list", [error]]}})
""",
}

# Each of these stands in a solved notebook, before all else: what is scored must be what it was without.
BYSTANDERS = {
    "a shell": "!touch {outside}/pwned\n%pip install evil\nimport os\nos.system('touch {outside}/pwned')",
    "a cell of bash": "%%bash\ntouch {outside}/pwned",
    "a program": "import subprocess\nsubprocess.run(['touch', '{outside}/pwned'])",
    "writing outside": "open('{outside}/pwned', 'w').write('x')",
    "writing upwards": "open('../../../../../../..{outside}/pwned', 'w').write('x')",
    "links outside": "import os\nos.symlink('{outside}', 'link')\nopen('link/pwned', 'w').write('x')",
    "removing": "import shutil\nshutil.rmtree('{outside}')",
    "the parents are killed": """
import os, signal
for pid in {os.getppid(), os.getppid() + 1, os.getpid() - 1, os.getpid() - 2, os.getpid() - 3} - {0, 1, os.getpid()}:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
""",
    "a process that stays": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        time.sleep(1000)
    os._exit(0)
""",
    "keys for other guests": """
import ctypes
for ring in (-3, -4, -5): ctypes.CDLL(None).syscall(248, b"user", b"labkit", b"hello", 5, ring)
""",
    "it stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "its socket is closed": "import os\nos.close(3)",
    "its limits are lowered": """
import resource
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE): resource.setrlimit(limit, (0, 0))
""",
    "signals are blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "built-in functions are replaced": "import builtins\nbuiltins.vars = builtins.len = lambda *a: 1",
    "json is replaced": "import json\njson.dumps = lambda *a, **k: '{}'\njson.loads = lambda *a: {}",
    "tracing raises": "import sys\ndef trace(*a): raise RuntimeError\nsys.settrace(trace)\nsys.setprofile(trace)",
    "collecting garbage never ends": """
import gc
def forever(*a):
    while True: pass
gc.callbacks.append(forever)
gc.set_threshold(1)
""",
    "files without number": "for i in range(10**5): open(f'f{i}', 'w').close()",
    "folders without end": "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')",
    "a very long cell": "x = '" + "y" * 3_000_000 + "'",
    "an error of its own kind": "class X(Exception): pass\nX.__name__ = '<script>' * 100\nraise X('<b>')",
    "an error that ends it all": "class X(Exception):\n    def __str__(self): raise SystemExit\nraise X",
    "a thread that stays": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    "the interpreter crashes": "import ctypes\nctypes.string_at(0)",
    "the process ends": "import os\nos._exit(0)",
    "exit": "import sys\nsys.exit('bye')",
    "endless": "while True:\n    pass",
    "endless, and swallows everything": """
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "endless, without a clock": (
        "import signal\nfor one in (signal.SIGALRM, signal.SIGPROF): signal.signal(one, signal.SIG_IGN)\n"
        "while True: pass"
    ),
    "endless, sleeping": "import time\nwhile True:\n    try:\n        time.sleep(1000)\n    except BaseException: pass",
    "memory": "big = [bytearray(10**8) for _ in range(1000)]",
    "recursion": "def f(): return f()\nf()",
    "much is printed": "import sys\nfor out in [sys.stdout, sys.stderr] * 100: print('x' * 10**6, file=out)",
    "much is written": "with open('big', 'wb') as f:\n    for _ in range(1000): f.write(b'x' * 10**6)",
    "asked for input": "name = input('your name? ')",
    "a debugger": "breakpoint()",
    "a null byte": "x = 1\0",
    "not Python": "this is not Python",
    "a missing module": "import pandas as pd",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('x')",
    "numpy raises": "import numpy as np\nnp.seterr(all='raise')\nnp.set_printoptions(precision=1)",
    "files are left open": "import os\nfiles = [open(os.devnull) for _ in range(1000)]",
}

# Tables that misbehave when they are read: each costs its own points, and nothing else.
TABLES = {
    "ends the process": "import os; os._exit(0)",
    "exits": "raise SystemExit",
    "interrupts": "raise KeyboardInterrupt",
    "never ends": "import time; time.sleep(1000)",
}
BOMBS = {
    "a fork bomb": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "a thread bomb": """
import threading, time
while True:
    try:
        threading.Thread(target=time.sleep, args=(100,)).start()
    except RuntimeError:
        pass
""",
}

# What a guest finds where a layer stands, and doesn't find where it is missing.
PROBES = """
import ctypes, os, socket, struct
libc, none = ctypes.CDLL(None, use_errno=True), bytes(24)
def refused(ask, *args):
    try:
        ask(*args)
    except PermissionError:
        return True
held = ctypes.create_string_buffer(24)
libc.capget(struct.pack("Ii", 0x20080522, 0), held)
stand = {
    "namespaces": os.getpid() == 1,
    "no new privileges": libc.prctl(39, 0, 0, 0, 0) == 1,
    "not root": os.getuid() != 0,
    "landlock": refused(os.listdir, "/"),
    "no capabilities": held.raw == none,
    "system calls": refused(socket.socket),
}
stand = [name for name in stand if stand[name]]
"""

# Bodies of a function: what becomes of its exercise, the others being scored as usual.
FUNCTIONS = {
    "endless": ("while True: pass", "timed_out"),
    "endless, swallowing": (
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        "timed_out",
    ),
    "endless, without a clock": (
        "import signal\n    for one in (signal.SIGALRM, signal.SIGPROF): signal.signal(one, signal.SIG_IGN)\n"
        "    while True: pass",
        "timed_out",
    ),
    "ends the process": ("import os; os._exit(0)", "crashed"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "crashed"),
    "exits": ("raise SystemExit(0)", "crashed"),
    "asks": ("return input()", "crashed"),
    "forks": ("import os\n    while True: os.fork()", None),
    "eats memory": ("x = [bytearray(10**8) for _ in range(1000)]", None),
    "prints": ("print(n)", "failed"),
    "prints much": ("for _ in range(100): print('x' * 10**6)", "failed"),
    "unwritten": ("...", "unattempted"),
    "not implemented": ("raise NotImplementedError", "unattempted"),
    "returns None": ("m = n; return None", "failed"),
    "returns a dict": ("return {'mask': 1}", "failed"),
    "returns text": ("return 'mask'", "failed"),
    "keyboard interrupt": ("raise KeyboardInterrupt", "crashed"),
    "warns": ("import warnings; warnings.warn('x'); return np.tri(n, dtype=bool)", "passed"),
    "writes to stderr": ("import sys; print('x', file=sys.stderr); return np.tri(n, dtype=bool)", "passed"),
    "gives a list": ("return [[i >= j for j in range(n)] for i in range(n)]", "passed"),
    "gives a matrix": ("return np.matrix(np.tri(n))", "passed"),
    "gives a generator": ("return (i for i in range(n))", "failed"),
    "asks for numbers": ("from labkit import student; return student('eve')", "crashed"),
    "gives a number of many bytes": ("return np.tri(n).astype(np.longdouble)", "passed"),
    "gives objects": ("return np.tri(n).astype(object)", "passed"),
    "gives dates": ("return np.tri(n).astype('datetime64[s]')", "failed"),
    "gives named columns": ("return np.zeros(n, dtype=[('a', int)])", "failed"),
    "gives complex numbers": ("return np.tri(n) + 0j", "failed"),
    "gives a view from behind": ("return np.tri(n, dtype=bool)[::-1][::-1]", "passed"),
    "gives nothing in many columns": ("return np.zeros((0, 10**9))", "failed"),
    "gives what never says what it is": (
        "class X:\n        def __array__(self, *a, **k):\n            while True: pass\n    return X()",
        "timed_out",
    ),
}
