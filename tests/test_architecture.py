"""The shape of the code: allowed imports between folders, banned constructions, and fast starts.

Each rule is a function from sources to findings, so that the tests can show it a bad source as well as the real ones.
"""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from cairn.core.plugins import POINTS, ExtensionPoint

ROOT = Path(__file__).parents[1]
HOSTILE = ROOT / "sandboxes" / "attacks" / "programs"  # attacks: the tests check their actions
PROJECTS = ROOT / "envs" / "code" / "projects"  # code for agents to repair: data of tasks
FOLDERS = ("core", "sandboxes", "envs", "agents", "trainer", "viewer", "cli", "integrations", "benchmarks")
ALLOWED = {
    "core": {"core"},
    "sandboxes": {"core", "sandboxes"},
    "envs": {"core", "sandboxes", "envs"},
    "agents": {"core", "sandboxes", "envs", "agents"},
    "trainer": {"core", "sandboxes", "envs", "agents", "trainer"},
    "viewer": {"core", "sandboxes", "envs", "agents", "trainer", "viewer"},
    "cli": {*FOLDERS, "configs"},
    "integrations": {"core", "sandboxes", "envs", "agents", "integrations"},
    "benchmarks": {*FOLDERS, "configs"},
}
HOMES = {"env": "envs", "credit": "trainer", "losses": "trainer", "plugins": "trainer"}  # public modules: folder
HEAVY = {"torch", "transformers", "peft", "tokenizers", "safetensors"}
MAY_BE_HEAVY = ("trainer/", "agents/backends/", "agents/models/", "benchmarks/")
READS_TOKENIZERS = (
    "viewer/token_texts.py"  # which needs no torch; tests/viewer/test_pages.py has it that none is loaded
)
CREDIT_MAY_IMPORT = {"numpy", "scipy", "networkx", "pydantic", "rapidfuzz", *sys.stdlib_module_names}
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
MOST_MODULES = 20  # of a package
LARGE = {
    "trainer/credit/methods": "one file per method",
    "envs/webshop": "pages, search and goals of one shop",
}
LEAST_LINES = 30  # of a module
SHORT = {
    "agents/forms/plain.py": "a plug-in",
    "agents/forms/tagged.py": "a plug-in",
    "core/one_ahead.py": "it knows nothing of samples and batches",
    "core/text.py": "six folders use it",
    "core/tool_arguments.py": "what reads tool calls in two folders shares it",
    "core/server_socket.py": "three servers in three folders share it",
    "sandboxes/supervisor_source.py": "places on this machine and containers share it",
    "trainer/losses/imitate.py": "a plug-in",
}
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common"}
LIMIT_S = 0.3  # of processor time, where Python itself starts in `BARE_S`
BARE_S = 0.03

Rule = Callable[[str, ast.Module], Iterator[str]]  # path from the root and syntax tree -> findings


def imports(tree: ast.AST) -> Iterator[str]:
    return imported(ast.walk(tree))


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows(path: str, tree: ast.Module) -> Iterator[str]:
    """Imports go one way; `import cairn` reaches everything, so only its users may do that."""
    folder = path.split("/")[0]
    for name in imports(tree):
        parts = name.split(".")
        if parts[0] == "cairn":
            target = HOMES.get(parts[1], parts[1]) if len(parts) > 1 else ""
            is_face = target not in {*FOLDERS, "configs"}
            if is_face and target != "__version__" and folder not in ("cli", "benchmarks", "viewer"):
                yield f"{path} imports {name}; import the module that defines it"
            elif not is_face and target not in ALLOWED[folder]:
                yield f"{path} imports {name}; {folder} may import {sorted(ALLOWED[folder])}"


def heavy_imports(path: str, tree: ast.Module) -> Iterator[str]:
    """Torch and its kind stand where nothing works without them; elsewhere only inside functions of `cli`."""
    if path.startswith(MAY_BE_HEAVY) and not path.startswith("trainer/credit/"):
        return
    for name in imported(at_import(tree)) if path.startswith("cli/") else imports(tree):
        top = name.split(".")[0]
        if top in HEAVY and (path, top) != (READS_TOKENIZERS, "tokenizers"):
            yield f"{path} imports {name}"


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: no functions, and no imports for types."""
    for node in ast.iter_child_nodes(tree):
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not is_for_types and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
            yield from at_import(node)


def credit_imports(path: str, tree: ast.Module) -> Iterator[str]:
    """Credit is numbers in, numbers out."""
    if path.startswith("trainer/credit/"):
        for name in imports(tree):
            is_ours = name.startswith(("cairn.core.", "cairn.trainer.credit"))
            if not is_ours and name.split(".")[0] not in CREDIT_MAY_IMPORT:
                yield f"{path} imports {name}"


def banned(path: str, tree: ast.Module) -> Iterator[str]:
    """Nothing runs text as code or hands it to a shell, except programs that run within a sandbox."""
    if "/inside/" in path:
        return
    yield from (f"{path} imports {name}" for name in imports(tree) if name.split(".")[0] in BANNED_MODULES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
                yield f"{path}:{node.lineno} calls {node.func.id}"
            if any(key.arg == "shell" and not _is_false(key.value) for key in node.keywords):
                yield f"{path}:{node.lineno} passes shell="
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in ("os.system", "os.popen"):
                yield f"{path}:{node.lineno} calls {ast.unparse(node.func)}"


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def names(path: str, tree: ast.Module) -> Iterator[str]:
    """A module is named after its content, and its first line describes it."""
    if VAGUE & set(Path(path).with_suffix("").parts):
        yield f"{path}: name it after what it holds"
    if not ast.get_docstring(tree):
        yield f"{path} has no docstring"


def lengths(path: str, tree: ast.Module) -> Iterator[str]:
    """No file above 400 lines, no function above 100."""
    end = max((getattr(node, "end_lineno", 0) or 0 for node in tree.body), default=0)
    if end > 400:
        yield f"{path} has {end} lines; question a file at 400"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > 100:
                yield f"{path}:{node.lineno} {node.name} has {count} lines"


RULES: dict[str, Rule] = {
    "arrows": arrows,
    "heavy-imports": heavy_imports,
    "credit-imports": credit_imports,
    "banned": banned,
    "names": names,
    "lengths": lengths,
}

FAULTS = [
    ("arrows", "core/x.py", "from cairn.envs.base import TextEnv"),
    ("arrows", "sandboxes/x.py", "import cairn.envs"),
    ("arrows", "envs/x/env.py", "from cairn.agents.rollout.play import play"),
    ("arrows", "agents/x.py", "def f():\n    from cairn.trainer import train"),
    ("arrows", "trainer/x.py", "from cairn.viewer import app"),
    ("arrows", "viewer/x.py", "from cairn.cli import main"),
    ("arrows", "envs/x.py", "from cairn import train"),
    ("arrows", "envs/x.py", "import cairn"),
    ("heavy-imports", "core/x.py", "import torch"),
    ("heavy-imports", "envs/x.py", "def f():\n    import torch.nn"),
    ("heavy-imports", "agents/rollout/play.py", "from transformers import AutoModel"),
    ("heavy-imports", "trainer/credit/x.py", "import torch"),
    ("heavy-imports", "cli/x.py", "import torch"),
    ("heavy-imports", "viewer/app.py", "import tokenizers"),
    ("heavy-imports", "viewer/token_texts.py", "import torch"),
    ("credit-imports", "trainer/credit/methods/x.py", "from cairn.agents.rollout.play import play"),
    ("credit-imports", "trainer/credit/x.py", "import gymnasium"),
    ("banned", "core/x.py", "import pickle"),
    ("banned", "core/x.py", "from pickle import loads"),
    ("banned", "core/x.py", "eval('1')"),
    ("banned", "core/x.py", "exec('1')"),
    ("banned", "core/x.py", "run('ls', shell=True)"),
    ("banned", "core/x.py", "import os\nos.system('ls')"),
    ("names", "core/utils.py", '"""Text."""'),
    ("names", "envs/helpers/x.py", '"""Text."""'),
    ("names", "core/x.py", "x = 1"),
    ("lengths", "core/x.py", "\n" * 400 + "x = 1"),
    ("lengths", "core/x.py", "def f():\n" + "    x = 1\n" * 100),
]
SOUND = [
    ("arrows", "trainer/x.py", "from cairn.agents.rollout.play import play\nimport numpy"),
    ("heavy-imports", "cli/x.py", "def f():\n    import torch"),
    ("heavy-imports", "trainer/x.py", "import torch"),
    (
        "credit-imports",
        "trainer/credit/x.py",
        "import math\nimport numpy as np\nfrom cairn.core.table import StepTable",
    ),
    ("banned", "core/x.py", "run(['ls'], shell=False)"),
    ("banned", "sandboxes/inside/x.py", "exec('1')"),
]


@cache
def sources() -> Mapping[str, ast.Module]:
    """Return the syntax tree of each file, by its path from the root."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    return {
        file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in files
        if not file.is_relative_to(HOSTILE) and not file.is_relative_to(PROJECTS)
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_code_keeps_the_rule(rule: str) -> None:
    findings = [finding for path, tree in sources().items() for finding in RULES[rule](path, tree)]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize(("rule", "path", "source"), FAULTS)
def test_the_rule_catches(rule: str, path: str, source: str) -> None:
    assert list(RULES[rule](path, ast.parse(source)))


@pytest.mark.parametrize(("rule", "path", "source"), SOUND)
def test_the_rule_allows(rule: str, path: str, source: str) -> None:
    assert not list(RULES[rule](path, ast.parse(source)))


def test_every_rule_is_seen_to_catch() -> None:
    assert {rule for rule, _, _ in FAULTS} == set(RULES)


def large_packages(modules: Iterable[str]) -> list[str]:
    """Return the packages with more modules than a reader keeps in view."""
    counts = Counter(Path(module).parent.as_posix() for module in modules if not module.endswith("__init__.py"))
    return [package for package, count in counts.items() if count > MOST_MODULES]


def test_packages_have_few_modules() -> None:
    assert set(large_packages(sources())) == LARGE.keys()
    assert large_packages([f"core/{number}.py" for number in range(MOST_MODULES + 1)]) == ["core"]


def short_modules(lines: Mapping[str, int]) -> set[str]:
    """Return the modules that cost a reader more to open than they hold; of environments and benchmarks, none."""
    return {
        path
        for path, count in lines.items()
        if count < LEAST_LINES and not path.startswith(("envs/", "benchmarks/")) and not path.endswith("__init__.py")
    }


def test_short_modules_have_a_reason() -> None:
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert short_modules(lines) == SHORT.keys()
    assert short_modules({"core/x.py": LEAST_LINES, "core/y.py": LEAST_LINES - 1}) == {"core/y.py"}


def shared_class_names(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the public class names that several classes have, with the files that define them."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(path)
    return {name: found for name, found in files.items() if len(found) > 1}


def test_public_classes_have_names_of_their_own() -> None:
    assert shared_class_names(sources()) == {}
    twins = {
        "core/x.py": "class Page: ...",
        "viewer/y.py": "def f():\n    class Page: ...",
        "cli/z.py": "class _Page: ...",
    }
    found = shared_class_names({path: ast.parse(text) for path, text in twins.items()})
    assert found == {"Page": ["core/x.py", "viewer/y.py"]}


def import_cycles(trees: Mapping[str, ast.Module]) -> list[list[str]]:
    """Return the sets of modules that import each other when they are loaded; imports inside functions do not count."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in trees}
    for path, tree in trees.items():
        for name in imported(at_import(tree)):
            target = name.removeprefix("cairn.")
            while target and target not in modules:
                target = target.rpartition(".")[0]
            if target and modules[target] != path:
                graph.add_edge(path, modules[target])
    return [sorted(cycle) for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1]


def test_no_modules_import_each_other_at_run_time() -> None:
    assert import_cycles(sources()) == []
    cycle = {"core/x.py": "import cairn.core.y", "core/y/__init__.py": "from cairn.core.x import name"}
    assert import_cycles({path: ast.parse(text) for path, text in cycle.items()}) == [sorted(cycle)]
    late = {**cycle, "core/x.py": "def f():\n    import cairn.core.y"}
    assert import_cycles({path: ast.parse(text) for path, text in late.items()}) == []
    typed = {**cycle, "core/x.py": "if TYPE_CHECKING:\n    import cairn.core.y"}
    assert import_cycles({path: ast.parse(text) for path, text in typed.items()}) == []


def configs(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.toml"))


@pytest.mark.parametrize("file", configs(ROOT / "configs"), ids=lambda file: file.stem)
def test_every_configuration_is_toml(file: Path) -> None:
    assert tomllib.loads(file.read_text(encoding="utf-8"))


def untested(root: Path, plugins: dict[str, str]) -> list[str]:
    """Return the plug-ins without a file tests/.../test_NAME.py and without a folder tests/.../NAME/.

    A variant ``NAME/VARIANT`` has a file tests/.../NAME/variants/test_VARIANT.py.
    """
    there = {word.replace("_", "-") for file in (root / "tests").rglob("test_*.py") for word in _words(root, file)}
    there |= {"/".join(_variant(file)) for file in (root / "tests").rglob("variants/test_*.py")}
    return [place for name, place in plugins.items() if name.replace("_", "-") not in there]


def _variant(file: Path) -> tuple[str, str]:
    return file.parents[1].name.replace("_", "-"), file.stem.removeprefix("test_").replace("_", "-")


def _words(root: Path, file: Path) -> list[str]:
    return [file.stem.removeprefix("test_"), *file.relative_to(root / "tests").parts[:-1]]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_plugin_has_a_test(point: ExtensionPoint) -> None:
    places = {name: place for name, place in point.places().items() if place.startswith("cairn.")}
    assert not untested(ROOT, places)


def test_a_plugin_without_a_test_is_seen(tmp_path: Path) -> None:
    (tmp_path / "tests" / "envs" / "house").mkdir(parents=True)
    (tmp_path / "tests" / "envs" / "house" / "test_rules.py").touch()
    (tmp_path / "tests" / "test_two_words.py").touch()
    assert untested(tmp_path, {"house": "a", "two-words": "b", "other": "c"}) == ["c"]
    (tmp_path / "tests" / "envs" / "house" / "variants").mkdir()
    (tmp_path / "tests" / "envs" / "house" / "variants" / "test_big_one.py").touch()
    assert untested(tmp_path, {"house/big-one": "a", "house/other": "b", "two-words/big-one": "c"}) == ["b", "c"]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_plugin_exports_its_constant(point: ExtensionPoint) -> None:
    for name in point.places():
        assert point.load(name) is not None


def cpu_seconds(*command: str) -> float:
    """Return the least of five measurements of processor time, which a busy machine changes little."""
    spent = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def limit_s() -> float:
    """Return the time limit of a start on this machine: longer where Python itself takes longer."""
    return LIMIT_S * max(1.0, cpu_seconds(sys.executable, "-c", "pass") / BARE_S)


@pytest.mark.parametrize("command", [("-c", "import cairn"), ("-c", "from cairn.cli.main import app; app(['--help'])")])
def test_starting_is_fast(command: tuple[str, ...]) -> None:
    assert cpu_seconds(sys.executable, *command) < limit_s()


def test_a_slow_start_is_seen() -> None:
    limit = limit_s()
    assert cpu_seconds(sys.executable, "-c", f"while __import__('time').process_time() < {limit}: pass") > limit


def test_importing_cairn_imports_nothing_heavy() -> None:
    code = "import sys, cairn; print(sorted({'torch', 'numpy', 'gymnasium', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
