"""As much of C++ as the checks need: text without comments and strings, includes, functions."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)")
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """Comments, strings and characters become blanks; every line keeps its number."""
    return _TOKEN.sub(lambda match: _blank(match.group(0)), text)


def strings(text):
    """(line, value) of the plain string literals outside comments."""
    for match in _TOKEN.finditer(text):
        if match.group("string"):
            yield text.count("\n", 0, match.start()) + 1, match.group("string")[1:-1]


def includes(text):
    """(line, name, quoted) of each #include."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(2), match.group(1) == '"'


@dataclass(frozen=True)
class Function:
    """The lines of one function's definition, from its first word to its closing brace."""

    name: str
    first: int
    last: int


_SCOPE = re.compile(r"^\s*(?:inline\s+)?(?:namespace|extern)\b|\b(?:class|struct|union|enum)\s+[\w:\[\]]+[^()=]*$")
_NAME = re.compile(r"([\w:~]+|operator\s*\S+)\s*\(")


def _is_function(head):
    """Whether what stands before an opening brace begins a function's body."""
    flat = " ".join(head.split())
    if "(" not in flat or _SCOPE.search(flat) or re.search(r"=\s*$", flat):
        return False
    before_call = flat.split("(", 1)[0]
    return "=" not in before_call.replace("operator=", "").replace("==", "")


def functions(text):
    """Outermost function definitions; lambdas and blocks inside them belong to them."""
    code = _without_directives(code_only(text))
    kinds, head_start, function_start = [], 0, None
    for position, sign in enumerate(code):
        inside = "function" in kinds
        if sign == "{":
            head = code[head_start:position]
            if inside or re.search(r"[\w>(\[,]$", head):
                kinds.append("braces")  # a block of a function, or an initializer
            elif _is_function(head):
                kinds.append("function")
                function_start = head_start
            else:
                kinds.append("scope")
                head_start = position + 1
        elif sign == "}" and kinds:
            kind = kinds.pop()
            if kind == "function":
                yield _function(code, function_start, position)
            if kind != "braces":
                head_start = position + 1
        elif sign == ";" and not inside:
            head_start = position + 1


def _without_directives(code):
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: _blank(m.group(0)), code, flags=re.M)


def _function(code, start, end):
    head = code[start:end]
    head = head[re.match(r"\s*(?:(?:public|private|protected)\s*:\s*)*", head).end() :]
    name = _NAME.search(head)
    return Function(
        name.group(1) if name else "?",
        code.count("\n", 0, end - len(head)) + 1,
        code.count("\n", 0, end) + 1,
    )
