"""A YAML mapping by PyYAML's parser, without its constructor.

The parser tells what stands there, event by event, and the values are made here. So nothing can
be built that was not written: an alias, an anchor or a merge key, with which a few hundred bytes
stand for gigabytes, ends the reading at its event. This is the only home of PyYAML, and a module
of its own because importing that takes longer than reading a hundred files without it.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

import yaml

from backstaff.frontmatter.values import Value, plain

MAX_DEPTH = 32
MAX_EVENTS = 4_000
_BOOLEAN = "tag:yaml.org,2002:bool"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Events = Iterator[yaml.Event]


class _Mark(Protocol):
    line: int


class Unreadable(Exception):
    """A block that is no mapping, or not one that is read here; the message says where and why."""


def mapping(block: str) -> Mapping[str, Value]:
    """The mapping that BLOCK is. Raises `Unreadable`."""
    try:
        return _document(_bounded(yaml.parse(block, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error.problem or "it is no YAML", error.problem_mark) from error
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
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent() | yaml.ScalarEvent():
                found = _value(event, events, 1)
            case yaml.AliasEvent():
                raise _refusal(event)
            case yaml.DocumentEndEvent():
                _insist_on_the_end(events)
    if not isinstance(found, Mapping | None):
        raise Unreadable("it is not a mapping of keys to values")
    return found or {}


def _insist_on_the_end(events: _Events) -> None:
    if not isinstance(event := next(events), yaml.StreamEndEvent):
        raise _unreadable("it is more than one document", event.start_mark)


def _value(event: yaml.Event, events: _Events, depth: int) -> Value:
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        raise _refusal(event)
    if depth > MAX_DEPTH:
        raise _unreadable(f"it nests deeper than {MAX_DEPTH}", event.start_mark)
    match event:
        case yaml.SequenceStartEvent():
            return tuple(_value(item, events, depth + 1) for item in _items(events))
        case yaml.MappingStartEvent():
            return dict(_pairs(events, depth + 1))
        case yaml.ScalarEvent():
            return _scalar(event)
    raise _unreadable("it is no YAML", event.start_mark)  # no event that a value can start with


def _items(events: _Events) -> _Events:
    """The events with which the items of the collection start, until its end."""
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield event


def _pairs(events: _Events, depth: int) -> Iterator[tuple[str, Value]]:
    """The pairs of a mapping whose keys are scalars; what has another key is read and dropped."""
    seen: set[str] = set()
    for event in _items(events):
        if _merges(event):
            raise _unreadable("it uses a merge key (<<), which is refused", event.start_mark)
        _value(event, events, depth)
        value = _value(next(events), events, depth)
        if isinstance(event, yaml.ScalarEvent):
            if event.value in seen:
                raise _unreadable("it gives a key twice", event.start_mark)
            seen.add(event.value)
            yield event.value, value


def _merges(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]


def _scalar(event: yaml.ScalarEvent) -> Value:
    """Plain scalars by the core schema; quoted and tagged ones are text, but for a `!!bool`."""
    if event.implicit[0] or event.tag == _BOOLEAN:
        return plain(event.value)
    text: str = event.value
    return text


def _refusal(event: yaml.NodeEvent) -> Unreadable:
    kind = "an alias" if isinstance(event, yaml.AliasEvent) else "an anchor"
    return _unreadable(f"it uses {kind}, which is refused", event.start_mark)


def _unreadable(problem: str, mark: _Mark | None) -> Unreadable:
    """PROBLEM with its line; the block's first line is the file's second."""
    return Unreadable(f"line {mark.line + 2}: {problem}" if mark else problem)
