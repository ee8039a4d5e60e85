"""A subject that is a program: it compiles straight-line IR, in a parallel loop over fields of one axis, to Python."""

import base64
import json
import re
import sys

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
PURE = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}", "sqrt": "numpy.sqrt({})"}
FORMS = {
    r"place @(\S+) : (\w+)\[(\d+)\] field.*": None,
    r"program .*|task .*|\}|return|yield": None,
    r"%(\w+) = const (\S+) : (\w+)": "v{0} = types['{2}']({1})",
    r"parallel_for \(%(\w+) = %(\w+) to %(\w+)\) \{": "for v{0} in range(v{1}, v{2}):",
    r"%(\w+) = load @(\S+)\[%(\w+)\] : (\w+)": "v{0} = arrays['{1}'][v{2}]",
    r"store @(\S+)\[%(\w+)\], %(\w+)": "arrays['{0}'][v{1}] = v{2}",
    r"%\w+ = atomic .*?\badd @(\S+)\[%(\w+)\], %(\w+) : \w+": "arrays['{0}'][v{1}] += v{2}",
}


def compiled(program: str) -> str:
    lines, indent = [], ""
    for line in program.splitlines():
        text = re.sub(r" loc\(.*?\)", "", line).strip()
        lines.append(indent + statement(text))
        if text.startswith("parallel_for"):
            indent = "    "
        elif text == "}":
            indent = ""
    return "\n".join(lines)


def statement(text: str) -> str:
    for form, python in FORMS.items():
        if match := re.fullmatch(form, text):
            return python.format(*match.groups()) if python else "pass"
    match = re.fullmatch(r"%(\w+) = (\w+) (.*) : \w+", text)
    if not match or match[2] not in PURE:
        raise NotImplementedError(f"no {text}")
    return f"v{match[1]} = " + PURE[match[2]].format(*(f"v{name.strip(' %')}" for name in match[3].split(",")))


def launched(asked: dict) -> dict:
    sent = asked["arrays"].items()
    if asked["scalars"] or any(one["type"] not in TYPES or len(one["shape"]) != 1 for _, one in sent):
        return {"missing": "only fields of one axis"}
    arrays = {name: np.frombuffer(base64.b64decode(one["data"]), TYPES[one["type"]]).copy() for name, one in sent}
    try:
        exec(compiled(asked["program"]), {"arrays": arrays, "types": TYPES, "numpy": np})
    except NotImplementedError as missing:
        return {"missing": str(missing)}
    return {"arrays": {name: base64.b64encode(array).decode() for name, array in arrays.items()}, "returns": []}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(launched(json.loads(line))), flush=True)
