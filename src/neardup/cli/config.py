"""A run in a file: options of a command that stand in the TOML file of ``--config``, as though they had been typed.

What is typed wins over the environment (``environment``), and this over the file. A file is read only when it is
named. Each value goes through the type of its option, so it is checked as a typed one is, in the same words; which
options exclude each other is then the business of the command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click

from neardup.cli import LOGGED, TYPED, LazyGroup, environment, logged
from neardup.cli.options import YES, Command
from neardup.cli.toml import as_toml
from neardup.cli.voice import say
from neardup.errors import did_you_mean
from neardup.params.presets import PIPELINES, PRESETS, preset_options
from neardup.shown import shown

READ = "neardup.config"
"""Key in the context's ``meta``: the name of the file that was read, and the parameters that it gave."""
SURROUNDED = "neardup.environment"
"""Key in the context's ``meta``: the parameters that the environment gave, each with its variable."""
GIVEN = "neardup.given"
"""Key in the context's ``meta``: the parameters that were given to the command that is called, as they were typed."""
COMMAS = frozenset({"normalize", "weights", "rows", "set", "permutation", "order", "text"})
"""Options whose value is several with commas between: in a file it may be a list."""
_ALONE = frozenset({"exact", "with-text"})
"""Options that take a value or none."""
_OF_FILES = frozenset({"FILE", "OUTPUT", "PAGE", "KEYFILE", "DIR"})
"""What the help calls values that name a file or a folder."""
MOST_FAULTS = 50
"""Faults that are told of one file; the others are counted."""
_PROJECT = ("tool", "neardup")
"""Where a pyproject.toml has the options."""


class ConfigError(click.UsageError):
    """What is wrong in a file, a line for each fault."""

    def __init__(self, faults: Sequence[str], ctx: click.Context | None = None) -> None:
        super().__init__(" ".join(faults), ctx)
        self._faults = faults

    def format_message(self) -> str:
        return "\n".join(map(shown, self._faults))


class ConfiguredCommand(Command):
    """A command whose options and arguments may stand in a file."""

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
        """The parser of the command line, to whose findings those of the file are added."""
        parser = super().make_parser(ctx)
        parse_words = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            if ctx.resilient_parsing:
                ctx.meta[TYPED] = [*args]
            given, rest, order = parse_words(args)
            typed = [param for param in order if _is_given(given, param)]
            if not ctx.resilient_parsing and not any("--help" in param.opts for param in typed):
                names: set[str | None] = {param.name for param in typed}
                self._add(given, order, _of_environment(ctx, names | _of_preset(given.get("preset"))))
                names.update(ctx.meta[SURROUNDED])
                if isinstance(file := given.get("config"), str):
                    read = _read(ctx, file, names | _of_preset(given.get("preset")))
                    self._add(given, order, read)
                    ctx.meta[READ] = (file, sorted(read))
            ctx.meta[GIVEN] = {param.name: given[param.name] for param in self.params if _is_given(given, param)}
            return given, rest, order

        parser.parse_args = parse_args  # type: ignore[method-assign]
        return parser

    def _add(self, given: dict[str, Any], order: list[click.Parameter], read: Mapping[str, Any]) -> None:
        """Add values to what the parser has found."""
        for param in self.params:
            if param.name in read:
                given[param.name] = read[param.name]
                order.append(param)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. An error in its usage says which of the options that it names were not typed."""
        words = command_words(ctx)
        try:
            logged.begin(ctx, ctx.meta[GIVEN], words)
            if not ctx.params.get("quiet"):
                say(*(f"neardup: {told}" for told in environment.unknown(self, words)))
            answer = super().invoke(ctx)
            if (log := ctx.meta.get(LOGGED)) is not None:
                log.ended(0)
            return answer
        except click.exceptions.Exit as exc:
            if (log := ctx.meta.get(LOGGED)) is not None:
                log.ended(exc.exit_code)
            raise
        except click.UsageError as exc:
            named = [(key, str(param.name)) for key, param in keys_of(self).items() if _names(exc, key, param)]
            file, of_file = ctx.meta.get(READ, ("", ()))
            keys = [key for key, name in named if name in of_file]
            told = [exc.message, f"{file} gives {' and '.join(keys)}." if keys else ""]
            told.append(environment.gives(ctx.meta.get(SURROUNDED, {}), [name for _, name in named]))
            vars(exc).update(message=" ".join(filter(None, told)))
            raise


def _of_environment(ctx: click.Context, nearer: set[str | None]) -> dict[str, Any]:
    """What the environment gives to a command, but for the parameters that are given ``nearer`` to it.

    Values are as the parser would have found them. ConfigError with all that are wrong, each by its variable.
    """
    values: dict[str, Any] = {}
    read: dict[str, str] = {}
    faults = []
    for param, variable, text in environment.found(ctx.command, command_words(ctx)):
        name = str(param.name)
        if name in nearer:
            continue
        try:
            raw = environment.raw_value(param, text, alone(environment.long_name(param), param))
            if raw is None:  # as if it were not there, in a file too
                read[name] = variable
                continue
            param.type_cast_value(ctx, raw)
        except click.UsageError as exc:
            faults.append(f"{variable} in the environment: {exc.message}")
            continue
        values[name], read[name] = raw, variable
    if faults:
        raise ConfigError(faults, ctx)
    ctx.meta[SURROUNDED] = read
    return values


def _is_given(given: Mapping[str, Any], param: click.Parameter) -> bool:
    """Whether the parser has found a parameter: an argument that is not there has no value, or a mark of click's."""
    value = given.get(str(param.name))
    if isinstance(param, click.Argument):
        return isinstance(value, (str, list, tuple)) and len(value) > 0
    return value is not None


def _of_preset(name: Any) -> set[str | None]:
    """The options that a preset stands for, which win over those of a file when it is typed."""
    return set(preset_options(name)) if name in (*PRESETS, *PIPELINES) else set()


def _names(exc: click.UsageError, key: str, param: click.Parameter) -> bool:
    word = f"--{key}" if isinstance(param, click.Option) else (param.metavar or key).strip("[]….").upper()
    return re.search(rf"{re.escape(word)}(?![\w-])", exc.message) is not None


def keys_of(command: click.Command) -> dict[str, click.Parameter]:
    """The options and arguments of a command by the keys that they have in a file."""
    found = {}
    for param in command.params:
        if param.name != "config":
            name = environment.long_name(param) if isinstance(param, click.Option) else str(param.name)
            found[name] = param
    return found


def _read(ctx: click.Context, file: str, typed: set[str | None]) -> dict[str, Any]:
    """What a file gives to a command, by the names of its parameters: values as the parser would have found them.

    Arguments of the file fill in those that are not typed; where it has one that is, the typed ones replace them all.
    """
    try:
        return _values(ctx, _Document.of(file), typed)
    except click.UsageError as exc:
        exc.ctx = ctx
        raise


def _values(ctx: click.Context, document: _Document, typed: set[str | None]) -> dict[str, Any]:
    known = keys_of(ctx.command)
    found = document.options(command_words(ctx), known)
    values: dict[str, Any] = {}
    for key, (table, name, value) in found.items():
        param = known[key]
        try:
            raw = _as_typed(key, param, value)
            if raw is not None:
                param.type_cast_value(ctx, raw)
                values[str(param.name)] = raw
        except _FaultError as exc:
            document.fault(table, name, str(exc))
        except click.UsageError as exc:
            document.fault(table, name, exc.message)
    document.check()
    arguments = {param.name for param in known.values() if isinstance(param, click.Argument)}
    if arguments & typed & values.keys():
        typed |= arguments
    return {name: value for name, value in values.items() if name not in typed}


def command_words(ctx: click.Context) -> tuple[str, ...]:
    """The words that name the command of a context, such as ``index`` and ``build``."""
    words: list[str] = []
    at: click.Context | None = ctx
    while at is not None and (at.parent is not None or not words):
        words.insert(0, str(at.command.name))
        at = at.parent if at.parent is not None and at.parent.parent is not None else None
    return tuple(words)


class _FaultError(Exception):
    """A value that no typed word could be."""


def _as_typed(key: str, param: click.Parameter, value: Any) -> Any:
    """A value as the parser of the command line would have found it; None: as though it were not there."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise _FaultError(f"it is {as_toml(value)}, and --{key} has no value. Give true or false.")
        return value
    if getattr(param, "multiple", False) or param.nargs == -1:
        return tuple(_word(key, each) for each in (value if isinstance(value, list) else [value]))
    if isinstance(value, bool) and (word := alone(key, param)) is not None:
        return word if value else None
    return _word(key, value)


def alone(key: str, param: click.Parameter) -> str | None:
    """What an option has for its value that stands alone, where it may."""
    if key in _ALONE:
        return YES
    word = getattr(param, "flag_value", None) if getattr(param, "_flag_needs_value", False) else None
    return word if word is None else str(word)


def _word(key: str, value: Any) -> str:
    """One value as a word of the command line."""
    if isinstance(value, list) and key in COMMAS:
        return ",".join(_word("", each) for each in value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        what = "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else as_toml(value)
        raise _FaultError(f"it is {what}. Give a text or a number.")
    try:
        word = str(value)
    except ValueError as exc:  # Python writes no number of more than 4,300 digits
        raise _FaultError("it is a number of too many digits.") from exc
    if "\0" in word:
        raise _FaultError(f"{as_toml(value)} has a NUL character, which no option can have. Leave it out.")
    return word


Table = tuple[str, ...]


@dataclass(slots=True)
class _Document:
    """The options of a file, and what is wrong with them."""

    file: str
    text: str
    prefix: Table
    root: Mapping[str, Any]
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Each of the first with its line; 0 where that is not known."""
    count: int = 0

    @classmethod
    def of(cls, file: str) -> _Document:
        """Read and parse a file; UsageError where it cannot be, or has no options."""
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
            return cls(file, text, (), data)
        tool = data.get("tool")
        table = tool.get("neardup") if isinstance(tool, dict) else None
        if not isinstance(table, dict):
            raise click.UsageError(f"{file} has no table [tool.neardup]. Write one, or name another file.")
        return cls(file, text, _PROJECT, table)

    def options(self, words: Table, known: Mapping[str, click.Parameter]) -> dict[str, tuple[Table, str, Any]]:
        """The keys for one command: table, name as written and value; those of its own table win."""
        from neardup.cli import main

        assert isinstance(main, LazyGroup)
        self._check_names(self.root, (), main, words, known)
        found: dict[str, tuple[Table, str, Any]] = {}
        table, at = self.root, 0
        while True:
            for name, value in table.items():
                if not isinstance(value, dict) and _key(name) in known:
                    found[_key(name)] = (words[:at], name, value)
            inner = {_key(name): value for name, value in table.items()}.get(words[at]) if at < len(words) else None
            if not isinstance(inner, dict):
                break
            table, at = inner, at + 1
        if not found and not self.faults and self.root:
            tables = ", ".join(f"[{'.'.join(path)}]" for path in _tables(self.root, self.prefix))
            told = f"{self.file} has nothing for neardup {' '.join(words)}, only for others: {tables}."
            self.faults.append((0, f"{told} Move the keys that they share above the tables."))
        return found

    def _check_names(
        self,
        table: Mapping[str, Any],
        path: Table,
        command: click.Command,
        words: Table,
        known: Mapping[str, click.Parameter],
    ) -> None:
        """Note each key that is no option of a command of this table, and each table that is no command."""
        group = command if isinstance(command, LazyGroup) else None
        commands = group.list_commands(click.Context(group)) if group is not None else []
        met: set[str] = set()
        for name, value in table.items():
            key = _key(name)
            if key in met:
                self.fault(path, name, "it is there twice, with a dash and with an underscore.")
            met.add(key)
            if key in commands and isinstance(value, dict) and group is not None:
                inner = group.get_command(click.Context(group), key)
                assert inner is not None
                self._check_names(value, (*path, key), inner, words, known)
            elif isinstance(value, dict):
                is_option = key in _all_keys(command)
                told = (
                    f"{key} is an option, not a command. Give it a value."
                    if is_option
                    else (f"there is no command {name!r}.{did_you_mean(key, commands)}")
                )
                self.fault((*path, name), None, told)
            elif words[: len(path)] != path or key not in known:
                self._check_key(path, name, command, commands)

    def _check_key(self, path: Table, name: str, command: click.Command, commands: Sequence[str]) -> None:
        key, keys = _key(name), _all_keys(command)
        if key in keys:
            return
        whose = f"neardup {' '.join(path)}" if path else "neardup"
        if key in ("config", "help"):
            self.fault(path, name, "it is for the command line only. Leave it out.")
        elif key in commands:
            self.fault(path, name, f"{key} is a command. Give its options in a table [{'.'.join((*path, key))}].")
        else:
            hint = did_you_mean(key, keys) if self.count < MOST_FAULTS else ""
            self.fault(path, name, f"{whose} has no option of this name.{hint}")

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
    """The tables inside one that have keys."""
    for name, value in table.items():
        if isinstance(value, dict):
            if any(not isinstance(each, dict) for each in value.values()):
                yield (*path, name)
            yield from _tables(value, (*path, name))


def _key(name: str) -> str:
    return name.replace("_", "-")


@cache
def _all_keys(command: click.Command) -> frozenset[str]:
    """The keys of a command, or of all commands of a group."""
    if not isinstance(command, LazyGroup):
        return frozenset(map(_key, keys_of(command)))
    ctx = click.Context(command)
    inner = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
    return frozenset(key for each in inner if each is not None for key in _all_keys(each))


def _line_of(text: str, table: Table, name: str | None) -> int | None:
    """Line of a key, or of the head of a table where ``name`` is None, as far as it is written in the usual way."""
    at: Table = ()
    for number, line in enumerate(text.split("\n"), start=1):
        head = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$", line)
        if head is not None:
            at = _table(tuple(word.strip().strip("\"'") for word in head[1].split(".")))
        if at != _table(table):
            continue
        if head is not None and name is None:
            return number
        if name is not None and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            return number
    return None


def _table(path: Table) -> Table:
    return tuple(map(_key, path))
