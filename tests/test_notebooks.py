"""What is seen of the notebooks without running them: what they do on request only, no gate runs."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import boostsoft

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCOPES = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def code(notebook):
    """The notebook's cells as one module, without IPython's own lines."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = [line.rstrip("\n") for cell in cells if cell["cell_type"] == "code" for line in [*cell["source"], ""]]
    return ast.parse("\n".join("" if line.startswith("%") else line for line in lines))


def assigned(node):
    """Names that are assigned in the notebook's own scope."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        if not isinstance(child, SCOPES):
            yield from assigned(child)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_function_keeps_its_name(notebook):
    module = code(notebook)
    made = {node.name for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert not made & set(assigned(module))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_imported_is_public(notebook):
    public = {"boostsoft", *re.findall(r"``(boostsoft\.\w+)[.`]", boostsoft.__doc__)}
    imports = [node for node in ast.walk(code(notebook)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {node.module if isinstance(node, ast.ImportFrom) else a.name for node in imports for a in node.names}
    assert {name for name in modules if name.startswith("boostsoft")} <= public


def test_the_readme_lists_every_notebook():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| notebook | question |") :]
    assert NOTEBOOKS
    assert [path.name for path in NOTEBOOKS if f"(notebooks/{path.name})" not in table] == []
