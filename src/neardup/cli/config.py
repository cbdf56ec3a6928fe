"""Read options of a command from the environment and the TOML file of ``--config``, as though they had been typed.

Typed options win over the environment, and the environment over the file. A file is read only if it is named. Each
value goes through the type of its option, so it is checked as a typed one is, in the same words. The command itself
checks which options exclude each other.

Variables are named, and their values read, as click does it with ``auto_envvar_prefix="NEARDUP"``, from the long names
of options: ``NEARDUP_FIND_THRESHOLD``, ``NEARDUP_INDEX_ADD_ON_BAD``. Click's own mechanism is not used: it would take
``NEARDUP_VERSION``, which images of containers set, as ``--version``, would let a file of ``--config`` win over the
environment, and would not name the variable in its errors.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.core import augment_usage_errors

from neardup.cli import LOGGED, TYPED, LazyGroup, logged
from neardup.cli.options import YES, Command
from neardup.cli.voice import say
from neardup.errors import did_you_mean
from neardup.params.presets import PIPELINES, PRESETS, preset_options
from neardup.shown import shown

NOT_TYPED = "neardup.not-typed"
"""Key in the context's ``meta``: the parameters that were not typed, each with its variable, or None for a file."""
GIVEN = "neardup.given"
"""Key in the context's ``meta``: the parameters that were given to the command that is called, as they were typed."""
COMMAS = frozenset({"normalize", "weights", "rows", "set", "permutation", "order", "text"})
"""Options whose value is several with commas between: in a file it may be a list."""
EVERYWHERE = frozenset({"threads", "memory", "quiet", "verbose", "log_level", "log_format", "log_file"})
"""Parameters that change no answer: these have a variable without the command too, such as ``NEARDUP_THREADS``."""
_ALONE = frozenset({"exact", "with-text"})
"""Options that take a value or none."""
_OF_FILES = frozenset({"FILE", "OUTPUT", "PAGE", "KEYFILE", "DIR"})
"""The metavars of values that name a file or a folder."""
MOST_FAULTS = 50
"""The most faults to report of one file; further ones are counted."""
_PROJECT = ("tool", "neardup")
"""Where a pyproject.toml has the options."""
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})


class ConfigError(click.UsageError):
    """The faults of a file or of the environment, a line for each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(" ".join(faults))
        self._faults = faults

    def format_message(self) -> str:
        return "\n".join(map(shown, self._faults))


class ConfiguredCommand(Command):
    """A command whose options may be set by variables of the environment, and these and its arguments in a file."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        for param in self.params:
            if param.type is click.STRING and param.metavar in _OF_FILES:
                param.type = click.Path(allow_dash=True)  # still a text, that a shell completes as the name of a file
        self.params.append(
            click.Option(
                ["--config"],
                metavar="FILE",
                type=click.Path(),
                expose_value=False,
                help="TOML file with options of this command, by their long names, and inputs. What is typed beside it"
                " wins. No file is read that is not named.  [default: none]",
            )
        )
        self.params.extend(logged.log_options())

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser of the command line, to whose findings those of the environment and a file are added."""
        parser = super().make_parser(ctx)
        parse_words = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            if ctx.resilient_parsing:
                ctx.meta[TYPED] = [*args]
            given, rest, order = parse_words(args)
            typed = [param for param in order if _is_given(given, param)]
            nearer: set[str | None] = {param.name for param in typed}
            is_help = any("--help" in param.opts for param in typed)
            sources: dict[str, str | None] = {}
            for read in () if ctx.resilient_parsing or is_help else (_from_environment, _from_file):
                with augment_usage_errors(ctx):
                    # a preset stands for options too, which win over those that are further away
                    values, known = read(ctx, given, nearer | _of_preset(given.get("preset")))
                found = [param for param in self.params if param.name in values]
                given.update(values)
                order.extend(found)
                nearer.update(known)
                sources.update(known)
            ctx.meta[NOT_TYPED] = sources
            ctx.meta[GIVEN] = {param.name: given[param.name] for param in self.params if _is_given(given, param)}
            return given, rest, order

        parser.parse_args = parse_args  # type: ignore[method-assign]
        return parser

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. An error in its usage says which of the options that it names were not typed."""
        words = command_words(ctx)
        try:
            logged.begin(ctx, ctx.meta[GIVEN], words)
            if not ctx.params.get("quiet"):
                say(*(f"neardup: {told}" for told in _unknown_variables(self, words)))
            answer = super().invoke(ctx)
            if (log := ctx.meta.get(LOGGED)) is not None:
                log.ended(0)
            return answer
        except click.exceptions.Exit as exc:
            if (log := ctx.meta.get(LOGGED)) is not None:
                log.ended(exc.exit_code)
            raise
        except click.UsageError as exc:
            sources = ctx.meta[NOT_TYPED]
            named = {
                key: sources[param.name]
                for key, param in keys_of(self).items()
                if param.name in sources and _names(exc, key, param)
            }
            of_file = [key for key, variable in named.items() if variable is None]
            told = [f"{ctx.meta[GIVEN]['config']} gives {' and '.join(of_file)}."] if of_file else []
            told += [f"{variable} is set in the environment." for variable in named.values() if variable is not None]
            vars(exc).update(message=" ".join([exc.message, *told]))
            raise


def _is_given(given: Mapping[str, Any], param: click.Parameter) -> bool:
    """Whether the parser has found a parameter: an argument that is not there has no value, or a mark of click's."""
    value = given.get(str(param.name))
    if isinstance(param, click.Argument):
        return isinstance(value, (str, list, tuple)) and len(value) > 0
    return value is not None


def _of_preset(name: Any) -> set[str | None]:
    """Return the options that a preset stands for."""
    return set(preset_options(name)) if name in (*PRESETS, *PIPELINES) else set()


def _names(exc: click.UsageError, key: str, param: click.Parameter) -> bool:
    word = f"--{key}" if isinstance(param, click.Option) else (param.metavar or key).strip("[]….").upper()
    return re.search(rf"{re.escape(word)}(?![\w-])", exc.message) is not None


def keys_of(command: click.Command) -> dict[str, click.Parameter]:
    """Return the options and arguments of a command by the keys that they have in a file."""
    params = [param for param in command.params if param.name != "config"]
    return {_long_name(param) if isinstance(param, click.Option) else str(param.name): param for param in params}


def _long_name(param: click.Parameter) -> str:
    return max(param.opts, key=len).lstrip("-")


def command_words(ctx: click.Context) -> tuple[str, ...]:
    """Return the words that name the command of a context, such as ``index`` and ``build``."""
    words: list[str] = []
    at: click.Context | None = ctx
    while at is not None and (at.parent is not None or not words):
        words.insert(0, str(at.command.name))
        at = at.parent if at.parent is not None and at.parent.parent is not None else None
    return tuple(words)


Read = tuple[dict[str, Any], dict[str, str | None]]
"""Values by the names of parameters, as the parser would have found them, and the entries of ``NOT_TYPED``."""


def _from_environment(ctx: click.Context, given: Mapping[str, Any], nearer: set[str | None]) -> Read:
    """Return the options of a command that are set in the environment, except those that are given ``nearer`` to it.

    An empty variable counts as unset. Raises ConfigError with all values that are wrong, each by its variable.
    """
    values: dict[str, Any] = {}
    read: dict[str, str | None] = {}
    faults = []
    words = command_words(ctx)
    for param in ctx.command.params:
        variable = next(filter(os.environ.get, _variables(words, param)), None)
        if variable is None or param.name in nearer or not isinstance(param, click.Option):
            continue
        try:
            raw = _of_variable(param, os.environ[variable])
            if raw is not None:
                param.type_cast_value(ctx, raw)
                values[str(param.name)] = raw
        except click.UsageError as exc:
            faults.append(f"{variable} in the environment: {exc.message}")
        read[str(param.name)] = variable  # one that says no is as if the option were not there, in a file too
    if faults:
        raise ConfigError(faults)
    return values, read


def _variables(words: tuple[str, ...], param: click.Parameter) -> list[str]:
    """Return the variables that give an option of a command, the one that wins first; none for an argument."""
    if not isinstance(param, click.Option):
        return []
    option = _long_name(param)
    names = [_variable(*words, option)]
    return [*names, _variable(option)] if param.name in EVERYWHERE else names


def _variable(*words: str) -> str:
    return "_".join(("NEARDUP", *words)).replace("-", "_").upper()


def _of_variable(param: click.Option, text: str) -> Any:
    """Return the text of a variable as the parser would have found it; None: as if it were not there."""
    if param.is_flag:
        return param.type.convert(text, param, None)
    if param.multiple and isinstance(param.type, click.Path):  # no address is cut at its colon
        return tuple(filter(None, re.split(rf"{re.escape(os.pathsep)}(?!//)", text)))
    if param.multiple:
        return tuple(text.split())
    word, said = alone(_long_name(param), param), text.strip().lower()
    is_number = not isinstance(param.type, click.Choice) and said.isdecimal()
    if word is not None and not is_number and said in _TRUE | _FALSE:
        return word if said in _TRUE else None
    return text


def _unknown_variables(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    """Report each variable that resembles a variable of the command without being one, with the name that is near."""
    start = f"{_variable(*words)}_"
    known = [name for param in command.params for name in _variables(words, param)]
    options = [name.removeprefix(start) for name in known if name.startswith(start)]
    for name in sorted(os.environ):
        if not name.startswith(start) or name in known or not os.environ[name]:
            continue
        # nearer than for what is typed: others set variables too, such as Kubernetes NEARDUP_SERVE_SERVICE_HOST
        near = get_close_matches(name.removeprefix(start), options, n=1, cutoff=0.8)
        if near:
            whose = f"neardup {' '.join(words)}"
            yield f"{name} is set, and {whose} has no such option. Did you mean {start}{near[0]}?"


def _from_file(ctx: click.Context, given: Mapping[str, Any], nearer: set[str | None]) -> Read:
    """Return the parameters of a command that the file of ``--config`` sets, except those given ``nearer`` to it.

    Arguments of the file fill in those that are not typed, unless the file has one that is typed: then none is taken.
    """
    if not isinstance(file := given.get("config"), str):
        return {}, {}
    known = keys_of(ctx.command)
    document = _Document.of(file, command_words(ctx), known)
    document.collect()
    values: dict[str, Any] = {}
    for key, (table, name, value) in document.found.items():
        try:
            raw = _as_typed(key, known[key], value)
            if raw is not None:
                known[key].type_cast_value(ctx, raw)
                values[str(known[key].name)] = raw
        except click.UsageError as exc:
            document.fault(table, name, exc.message)
    document.check()
    arguments = {param.name for param in known.values() if isinstance(param, click.Argument)}
    if arguments & nearer & values.keys():
        nearer = nearer | arguments
    values = {name: value for name, value in values.items() if name not in nearer}
    return values, dict.fromkeys(values)


def _as_typed(key: str, param: click.Parameter, value: Any) -> Any:
    """Return a value of a file as the parser would have found it; None: as though it were not there.

    Raises UsageError for a value that no typed word could be.
    """
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise click.UsageError(f"it is {as_toml(value)}, and --{key} has no value. Give true or false.")
        return value
    if getattr(param, "multiple", False) or param.nargs == -1:
        return tuple(_word(key, each) for each in (value if isinstance(value, list) else [value]))
    if isinstance(value, bool) and (word := alone(key, param)) is not None:
        return word if value else None
    return _word(key, value)


def alone(key: str, param: click.Parameter) -> str | None:
    """Return the value that an option has if it stands alone; None if it cannot."""
    if key in _ALONE:
        return YES
    word = getattr(param, "flag_value", None) if getattr(param, "_flag_needs_value", False) else None
    return word if word is None else str(word)


def _word(key: str, value: Any) -> str:
    """Return one value as a word of the command line."""
    if isinstance(value, list) and key in COMMAS:
        return ",".join(_word("", each) for each in value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        what = "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else as_toml(value)
        raise click.UsageError(f"it is {what}. Give a text or a number.")
    try:
        word = str(value)
    except ValueError as exc:  # Python writes no number of more than 4,300 digits
        raise click.UsageError("it is a number of too many digits.") from exc
    if "\0" in word:
        raise click.UsageError(f"{as_toml(value)} has a NUL character, which no option can have. Leave it out.")
    return word


def as_toml(value: Any) -> str:
    r"""Return a text, number, boolean, list, table or time as TOML has it, on one line.

    >>> print(as_toml(["a\"b", 0.5, True]))
    ["a\"b", 0.5, true]
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # what JSON escapes is what TOML wants escaped, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_toml(name)} = {as_toml(each)}' for name, each in value.items())}}}"
    return str(value)


Table = tuple[str, ...]


@dataclass(slots=True)
class _Document:
    """The options of a file for one command, and what is wrong with any of its keys."""

    file: str
    text: str
    prefix: Table
    root: Mapping[str, Any]
    words: Table
    """The words that name the command."""
    known: Mapping[str, click.Parameter]
    found: dict[str, tuple[Table, str, Any]] = field(default_factory=dict)
    """The table of each key, its name as written and its value; those of the command's own table win."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Each of the first with its line; 0 where that is not known."""
    count: int = 0

    @classmethod
    def of(cls, file: str, words: Table, known: Mapping[str, click.Parameter]) -> _Document:
        """Read and parse a file; UsageError if it cannot be, or has no options."""
        import tomllib  # not at the start of a command without a file

        try:
            # Notepad begins a file with a mark that TOML does not know
            text = Path(file).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
            data = tomllib.loads(text)
        except OSError as exc:
            cure = "Name a TOML file with options, such as neardup.toml."
            raise click.UsageError(f"cannot read the config file {file}: {exc.strerror}. {cure}") from exc
        except UnicodeDecodeError as exc:
            raise click.UsageError(f"{file} is no UTF-8 at byte {exc.start}, which TOML has to be.") from exc
        except (ValueError, RecursionError) as exc:
            reason = str(exc) if isinstance(exc, ValueError) else "lists or tables are too deep inside each other"
            cure = ' Texts need quotes, as in shingle = "word:3".' if reason.startswith("Invalid value") else ""
            raise click.UsageError(f"{file} is no TOML: {reason}.{cure}") from exc
        if os.path.basename(file) != "pyproject.toml" and "tool" not in data:
            return cls(file, text, (), data, words, known)
        tool = data.get("tool")
        table = tool.get("neardup") if isinstance(tool, dict) else None
        if not isinstance(table, dict):
            raise click.UsageError(f"{file} has no table [tool.neardup]. Write one, or name another file.")
        return cls(file, text, _PROJECT, table, words, known)

    def collect(self) -> None:
        """Find the options of the command, and check the names of all others."""
        from neardup.cli import main

        self._collect(self.root, (), main)
        if not self.found and not self.faults and self.root:
            tables = ", ".join(f"[{'.'.join(path)}]" for path in _tables(self.root, self.prefix))
            told = f"{self.file} has nothing for neardup {' '.join(self.words)}, only for others: {tables}."
            self.faults.append((0, f"{told} Move the keys that they share above the tables."))

    def _collect(self, table: Mapping[str, Any], path: Table, command: click.Command) -> None:
        """Take the options of the command from a table, and note each key that no command of the table has."""
        commands = command.list_commands(click.Context(command)) if isinstance(command, LazyGroup) else []
        met: set[str] = set()
        for name, value in table.items():
            key = _key(name)
            if key in met:
                self.fault(path, name, "it is there twice, with a dash and with an underscore.")
            met.add(key)
            if isinstance(value, dict) and isinstance(command, LazyGroup) and key in commands:
                inner = command.get_command(click.Context(command), key)
                assert inner is not None
                self._collect(value, (*path, key), inner)
            elif isinstance(value, dict):
                is_option = key in _all_keys(command)
                cure = f"there is no command {name!r}.{did_you_mean(key, commands)}"
                told = f"{key} is an option, not a command. Give it a value." if is_option else cure
                self.fault((*path, name), None, told)
            elif self.words[: len(path)] == path and key in self.known:
                if key not in self.found or len(self.found[key][0]) <= len(path):
                    self.found[key] = path, name, value
            elif key not in (keys := _all_keys(command)):
                self.fault(path, name, self._unknown(path, key, keys, commands))

    def _unknown(self, path: Table, key: str, keys: frozenset[str], commands: Sequence[str]) -> str:
        if key in ("config", "help"):
            return "it is for the command line only. Leave it out."
        if key in commands:
            return f"{key} is a command. Give its options in a table [{'.'.join((*path, key))}]."
        hint = did_you_mean(key, keys) if self.count < MOST_FAULTS else ""
        return f"{' '.join(('neardup', *path))} has no option of this name.{hint}"

    def fault(self, table: Table, name: str | None, told: str) -> None:
        """Note what is wrong with a key, or with a whole table."""
        self.count += 1
        if self.count > MOST_FAULTS:
            return
        line = _line_of(self.text, (*self.prefix, *table), name)
        place = self.file if line is None else f"{self.file}:{line}"
        what = f"[{'.'.join((*self.prefix, *table))}]" if name is None else name
        self.faults.append((line or 0, f"{place}: {what}: {told}"))

    def check(self) -> None:
        """Raise ConfigError with all faults, in order of their lines."""
        if self.faults:
            more = self.count - len(self.faults)
            rest = [f"and {more:,} more of the like"] if more > 0 else []
            raise ConfigError([told for _, told in sorted(self.faults)] + rest)


def _tables(table: Mapping[str, Any], path: Table) -> Iterator[Table]:
    """Yield the tables inside one that have keys."""
    for name, value in table.items():
        if isinstance(value, dict):
            if any(not isinstance(each, dict) for each in value.values()):
                yield (*path, name)
            yield from _tables(value, (*path, name))


def _key(name: str) -> str:
    return name.replace("_", "-")


@cache
def _all_keys(command: click.Command) -> frozenset[str]:
    """Return the keys of a command, or of all commands of a group."""
    if not isinstance(command, LazyGroup):
        return frozenset(map(_key, keys_of(command)))
    ctx = click.Context(command)
    inner = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
    return frozenset(key for each in inner if each is not None for key in _all_keys(each))


def _line_of(text: str, table: Table, name: str | None) -> int | None:
    """Return the line of a key, or of the head of a table if ``name`` is None; None if it is not found."""
    at: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        head = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$", line)
        if head is not None:
            at = [_key(word.strip().strip("\"'")) for word in head[1].split(".")]
        if at != [*map(_key, table)]:
            continue
        if head is not None and name is None:
            return number
        if name is not None and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            return number
    return None
