"""Parses every file of a generated client of a phone: an error is printed, and is a failure.

python parse.py <directory>
"""

import pathlib
import re
import sys

import tree_sitter
import tree_sitter_dart
import tree_sitter_swift

LANGUAGES = {".dart": tree_sitter_dart, ".swift": tree_sitter_swift}

# The grammar of Swift has no empty tuple as a value, which openapi-generator's own code uses.
EMPTY = re.compile(rb"(?<=[=:] )\(\)")


def errors(node):
    inner = [error for child in node.children if child.has_error for error in errors(child)]
    return inner or [node]


def main(directory):
    files = [path for path in sorted(pathlib.Path(directory).rglob("*")) if path.suffix in LANGUAGES]
    wrong = []
    for path in files:
        text = path.read_bytes()
        if path.suffix == ".swift":
            text = EMPTY.sub(b"nil", text)
        tree = tree_sitter.Parser(tree_sitter.Language(LANGUAGES[path.suffix].language())).parse(text)
        if tree.root_node.has_error:
            wrong += [f"{path}:{error.start_point.row + 1}" for error in errors(tree.root_node)]
    print("\n".join(wrong))
    return 1 if wrong or not files else 0


sys.exit(main(sys.argv[1]))
