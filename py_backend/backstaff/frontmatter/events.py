"""A YAML mapping, from the events of PyYAML's parser and without its constructor.

The parser reports each node as an event, and the values are made here. An alias, an anchor or a
merge key, with which a few hundred bytes can stand for gigabytes, ends the reading at its event.
Importing PyYAML takes longer than reading a hundred files without it, so only this module does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from backstaff.frontmatter.values import Value, plain

MAX_DEPTH = 32
"""Maximum number of collections within each other. Events are needed for this limit:
`yaml.compose` builds all nodes first, and 60,000 `[` then overflow C's stack and crash Python."""
MAX_EVENTS = 4_000
"""Maximum number of values and ends of collections in a block."""
_TOO_DEEP = f"it nests deeper than {MAX_DEPTH}"
_BOOLEAN = "tag:yaml.org,2002:bool"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Events = Iterator[yaml.Event]


class Unreadable(Exception):
    """A block that is no mapping, or is refused. The message says where and why."""


def mapping(block: str) -> Mapping[str, Value]:
    """Return the mapping in `block`. Raises `Unreadable`."""
    try:
        return _document(_bounded(yaml.parse(block, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        problem = error.problem or "it is no YAML"
        # The libyaml in PyYAML 6.0.4 refuses 1,000 levels itself, before the first event. The
        # message names our own limit in either case.
        if "nesting depth" in problem:
            problem = _TOO_DEEP
        raise _unreadable(problem, error.problem_mark) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise Unreadable("it holds a character that YAML does not allow") from error


def _bounded(events: _Events) -> _Events:
    for count, event in enumerate(events):
        if count == MAX_EVENTS:
            raise _unreadable("it holds too much", event.start_mark)
        yield event


def _document(events: _Events) -> Mapping[str, Value]:
    found: Value = {}
    for event in events:
        match event:
            case yaml.NodeEvent():
                found = _value(event, events, 1)
            case yaml.DocumentEndEvent():
                following = next(events)
                if not isinstance(following, yaml.StreamEndEvent):
                    raise _unreadable("it is more than one document", following.start_mark)
    if not isinstance(found, Mapping | None):
        raise Unreadable("it is not a mapping of keys to values")
    return found or {}


def _value(event: yaml.Event, events: _Events, depth: int) -> Value:
    """Return the value that starts with `event`, and take the rest of it from `events`."""
    if isinstance(event, yaml.AliasEvent):
        raise _unreadable("it uses an alias, which is refused", event.start_mark)
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        raise _unreadable("it uses an anchor, which is refused", event.start_mark)
    if depth > MAX_DEPTH:
        raise _unreadable(_TOO_DEEP, event.start_mark)
    match event:
        case yaml.SequenceStartEvent():
            for item in _items(events):
                _value(item, events, depth + 1)
            return ""
        case yaml.MappingStartEvent():
            return dict(_pairs(events, depth + 1))
        case yaml.ScalarEvent():
            # Unquoted scalars and a `!!bool` follow the core schema. Other scalars are text.
            text: str = event.value
            return plain(text) if event.implicit[0] or event.tag == _BOOLEAN else text
    raise _unreadable("it is no YAML", event.start_mark)  # no value starts with such an event


def _items(events: _Events) -> _Events:
    """Yield the first event of each item, until the collection ends."""
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield event


def _pairs(events: _Events, depth: int) -> Iterator[tuple[str, Value]]:
    """Yield the pairs of a mapping; a pair whose key is a collection is read and dropped."""
    seen: set[str] = set()
    for event in _items(events):
        key: str | None = None
        if isinstance(event, yaml.ScalarEvent):
            key = event.value
            if key == "<<" and event.implicit[0]:
                raise _unreadable("it uses a merge key (<<), which is refused", event.start_mark)
        _value(event, events, depth)
        value = _value(next(events), events, depth)
        if key is not None:
            if key in seen:
                raise _unreadable("it gives a key twice", event.start_mark)
            seen.add(key)
            yield key, value


def _unreadable(problem: str, mark: Any) -> Unreadable:  # noqa: ANN401  # yaml.Mark has no types
    """Add the line to `problem`. The first line of the block is the second of the file."""
    return Unreadable(f"line {mark.line + 2}: {problem}" if mark else problem)
