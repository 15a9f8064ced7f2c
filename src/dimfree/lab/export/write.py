"""Operations as text: neighbours that act entry by entry share a loop, and long functions are split.

V8 does not optimise very long functions. No local variable outlives a statement, so that any of them may go to another function.
"""

import re
from collections import Counter

import numpy as np

from dimfree.lab.export.liveness import Needed
from dimfree.lab.export.operations import (
    Branch,
    Call,
    Dot,
    Elementwise,
    For,
    Offset,
    Operation,
    Pick,
    Put,
    Reduce,
    While,
)
from dimfree.lab.export.tables import straight, strides, table_text
from dimfree.lab.export.values import Addresses

_LONGEST = 5000  # characters of a function
_SPELLED_OUT = 24  # products or terms up to which sums are written without a loop
_MARK = re.compile(r"@(\d+)@")


class Writer:
    """The text of one module: functions, and tables of addresses that they share."""

    def __init__(self, needed: Needed, zeros: Addresses) -> None:
        self.needed, self._zeros = needed, zeros
        self.functions: list[str] = []
        self._tables: dict[bytes, str] = {}
        self._table_texts: list[str] = []
        self._names = 0

    def function(self, name: str, operations: list[Operation]) -> str:
        """A function without arguments."""
        return f"function {name}(){{{''.join(self.block(operations))}}}"

    @property
    def tables(self) -> str:
        """The definition of all tables."""
        return f"const {','.join(self._table_texts)};" if self._table_texts else ""

    def table(self, addresses: Addresses) -> str:
        """The name of a table of addresses."""
        flat = np.ascontiguousarray(addresses, dtype=np.int64).ravel()
        key = flat.tobytes()
        if key not in self._tables:
            name = self._tables[key] = f"T{len(self._tables)}"
            self._table_texts.append(f"{name}={table_text(flat)}")
        return self._tables[key]

    def block(self, operations: list[Operation]) -> list[str]:
        """Statements, in functions of their own if they are long."""
        statements: list[str] = []
        group: list[Elementwise] = []
        for one in operations:
            if group and not (isinstance(one, Elementwise) and _fits(group, one)):
                statements.append(self._loop(group))
                group = []
            if isinstance(one, Elementwise):
                group.append(one)
            else:
                statements.append(self._statement(one))
        if group:
            statements.append(self._loop(group))
        return self._split(statements)

    def _split(self, statements: list[str]) -> list[str]:
        if sum(map(len, statements)) <= _LONGEST:
            return statements
        parts: list[list[str]] = [[]]
        for one in statements:
            if parts[-1] and sum(map(len, parts[-1])) + len(one) > _LONGEST:
                parts.append([])
            parts[-1].append(one)
        calls = []
        for part in parts:
            name = f"f{len(self.functions)}"
            self.functions.append(f"function {name}(){{{''.join(part)}}}")
            calls.append(f"{name}();")
        return calls

    def _statement(self, operation: Operation) -> str:
        match operation:
            case Dot():
                return self._dot(operation)
            case Reduce():
                return self._reduce(operation)
            case Pick():
                return self._pick(operation)
            case Put():
                return self._put(operation)
            case Call(out=out, name=name, sizes=sizes, tables=tables):
                return f"{name}({','.join(map(str, (out, *sizes)))},{','.join(map(self.table, tables))});"
            case Branch(index=index, cases=[no, yes]):
                otherwise = "".join(self.block(no))
                tail = f"else{{{otherwise}}}" if otherwise else ""
                return f"if(H[{index}]){{{''.join(self.block(yes))}}}{tail}"
            case Branch(index=index, cases=cases):
                texts = [f"case {n}:{''.join(self.block(one))}break;" for n, one in enumerate(cases)]
                return f"switch(Math.min(Math.max(H[{index}],0),{len(cases) - 1})){{{''.join(texts)}}}"
            case While(test=test, predicate=predicate, body=body):
                return f"for(;;){{{''.join(self.block(test))}if(!H[{predicate}])break;{''.join(self.block(body))}}}"
            case For(times=times, counter=counter, down=down, body=body):
                at = f"H[{counter}]"
                turn = f"{at}={times - 1};{at}>=0;{at}--" if down else f"{at}=0;{at}<{times};{at}++"
                return f"for({turn}){{{''.join(self.block(body))}}}"
        raise AssertionError(operation)

    def _dot(self, one: Dot) -> str:
        (b, m, k), n = one.left.shape, one.right.shape[1]
        if one.left.size * n > _SPELLED_OUT:
            left, right = strides(one.left), strides(one.right)
            if left is not None and right is not None:
                return f"product({','.join(map(str, (one.out, b, m, n, k, *left, *right)))});"
            lengths = [self.table(self._lengths(factor)) for factor in (one.left, one.right)]
            return f"dot({one.out},{b},{m},{n},{k},{self.table(one.left)},{self.table(one.right)},{','.join(lengths)});"
        pairs = [(one.left[x, y], one.right[x, z]) for x in range(b) for y in range(m) for z in range(n)]
        sums = ("+".join(f"H[{u}]*H[{v}]" for u, v in zip(*rows, strict=True)) or "0" for rows in pairs)
        return "".join(f"H[{one.out + place}]={text};" for place, text in enumerate(sums))

    def _lengths(self, factor: Addresses) -> Addresses:
        """How many entries of each row come before nothing but zeros."""
        zeros = np.isin(factor, self._zeros)
        rows, terms = zeros.reshape(-1, zeros.shape[-1]), zeros.shape[-1]
        return np.array([terms - int(np.argmin(np.append(row[::-1], False))) for row in rows])

    def _reduce(self, one: Reduce) -> str:
        rows, terms = one.rows.shape
        if one.kind == "sum" and 0 < one.rows.size <= _SPELLED_OUT:
            sums = ("+".join(f"H[{address}]" for address in row) for row in one.rows)
            return "".join(f"H[{one.out + place}]={text};" for place, text in enumerate(sums))
        return f"reduce_{one.kind}({one.out},{rows},{terms},{self.table(one.rows)});"

    def _pick(self, one: Pick) -> str:
        source = one.source
        straight = len(source) == 1 or bool((np.diff(source) == 1).all())
        place, inside, common = self._place(one.inside, one.offsets)
        read = f"H[{source[0]}+{place}]" if straight else f"H[{self.table(source)}[{place}]]"
        text = f"{inside}?{read}:NaN" if one.fill else read
        return f"{{{common}for(let i=0;i<{one.count};i++)H[{one.out}+i]={text};}}"

    def _put(self, one: Put) -> str:
        place, inside, common = self._place(one.inside, one.offsets)
        value, _ = self._entry(one.source)
        text = f"H[{one.out}+{place}]{'+' if one.add else ''}={value};"
        text = f"if({inside}){text}" if one.drop else text
        return f"{{{common}for(let i=0;i<{len(one.source)};i++){text}}}"

    def _place(self, inside: Addresses, offsets: list[Offset]) -> tuple[str, str, str]:
        """Where entry i lies, whether that is inside, and what is the same for all entries."""
        common, terms, tests = "", [straight(inside) or f"{self.table(inside)}[i]"], []
        for which, (index, most, stride) in enumerate(offsets):
            entry, fixed = self._entry(index)
            tests.append(f"{entry}>=0&&{entry}<={most}")
            term = f"Math.min(Math.max({entry},0),{most})*{stride}"
            if fixed:
                common += f"const o{which}={term};"
                term = f"o{which}"
            terms.append(term)
        return "+".join(terms), "&&".join(tests), common

    def _entry(self, addresses: Addresses) -> tuple[str, bool]:
        """Entry i of an array on the heap, and whether it is the same for all i."""
        if (addresses == addresses[0]).all():
            return f"H[{addresses[0]}]", True
        return f"H[{straight(addresses) or f'{self.table(addresses)}[i]'}]", False

    def _loop(self, group: list[Elementwise]) -> str:
        """Operations of one length in one loop; what only they read is never stored."""
        count = group[0].count
        made = {one.out: place for place, one in enumerate(group)}
        patterns = [_pattern(one) for one in group]
        uses = Counter(
            made[key]
            for one, (_, often) in zip(group, patterns, strict=True)
            for argument, times in zip(one.arguments, often, strict=True)
            if (key := _key(argument, made)) is not None
            for _ in range(times)
        )
        loads = Counter(
            entry
            for one, (_, often) in zip(group, patterns, strict=True)
            for argument, times in zip(one.arguments, often, strict=True)
            if not isinstance(argument, str) and _key(argument, made) is None
            for entry in [self._entry(argument)] * times
        )
        before: list[str] = []
        lines: list[str] = []
        loaded: dict[str, str] = {}
        for (entry, fixed), times in loads.items():
            if times > 1 or (fixed and count > 1):
                loaded[entry] = name = self._name()
                (before if fixed else lines).append(f"const {name}={entry};")
        texts: dict[int, str] = {}
        for place, (one, (pattern, _)) in enumerate(zip(group, patterns, strict=True)):
            names = [self._operand(argument, made, texts, loaded) for argument in one.arguments]
            text = _MARK.sub(lambda found, names=names: names[int(found[1])], pattern)  # type: ignore[misc]
            stored = self._stored(one, group)
            at = f"H[{one.out}]" if count == 1 else f"H[{one.out}+i]"
            if uses[place] > 1 or (stored and uses[place]):
                texts[place] = self._name()
                lines.append(f"const {texts[place]}={text};" + (f"{at}={texts[place]};" if stored else ""))
            elif stored:
                lines.append(f"{at}={text};")
            else:
                texts[place] = f"({text})"
        first, loop = "".join(before), "".join(lines)
        return f"{{{first}for(let i=0;i<{count};i++){{{loop}}}}}" if count > 1 else f"{{{first}{loop}}}"

    def _operand(
        self, argument: str | Addresses, made: dict[int, int], texts: dict[int, str], loaded: dict[str, str]
    ) -> str:
        if isinstance(argument, str):
            return f"({argument})" if argument.startswith("-") else argument
        key = _key(argument, made)
        if key is not None:
            return texts[made[key]]
        entry, _ = self._entry(argument)
        return loaded.get(entry, entry)

    def _stored(self, one: Elementwise, group: list[Elementwise]) -> bool:
        """Whether anybody beside the loop reads the result."""
        region = self.needed.region(one)
        return region in self.needed.wanted or not self.needed.readers[region] <= {id(other) for other in group}

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"


def _pattern(one: Elementwise) -> tuple[str, list[int]]:
    """The text with marks in place of arguments, and how often each of them is read."""
    text = one.text(*(f"@{place}@" for place in range(len(one.arguments))))
    often = Counter(int(found) for found in _MARK.findall(text))
    return text, [often[place] for place in range(len(one.arguments))]


def _key(argument: str | Addresses, made: dict[int, int]) -> int | None:
    """The region of the loop that an argument is, entry for entry."""
    if isinstance(argument, str) or int(argument[0]) not in made:
        return None
    return int(argument[0])  # neighbours are only put into one loop if they read each other entry for entry


def _fits(group: list[Elementwise], one: Elementwise) -> bool:
    """Whether an operation may join a loop: it reads what the loop makes entry for entry, and writes nothing that it reads."""
    if one.count != group[0].count:
        return False
    own = np.arange(one.count)
    for other in group:
        for argument in one.reads():
            touched = (argument >= other.out) & (argument < other.out + other.count)
            if touched.any() and not np.array_equal(argument, other.out + own):
                return False
        for argument in (*other.reads(), np.array([other.out])):
            if ((argument >= one.out) & (argument < one.out + one.count)).any():
                return False
    return True
