"""What tables should do: the tests that judge a repair."""

from tables.errors import QueryError, TableError, UnknownColumnError
from tables.reading import rows, value
from tables.table import read

TOWNS = """town;people;river;coast
Ulm;126;Danube;no
Bonn;331;Rhine;no
Kiel;247;;yes
Linz;;Danube;no
Basel;173;rhine;no
"12";5;"";yes"""


def towns():
    return read(TOWNS, ";")


def found(condition):
    return [row[0] for row in towns().where(condition).rows()]


def line_of(text):
    try:
        read(text)
    except TableError as error:
        return error.line
    return None


def test_quoted_fields_keep_everything():
    assert rows('" a ", "b""c" ,d e\n"x\ny",,""') == [[" a ", 'b"c', "d e"], ["x\ny", "", ""]]
    assert rows('""""\n') == [['"']]
    assert rows("a|b, c", "|") == [["a", "b, c"]]


def test_empty_lines_and_empty_fields():
    assert rows("\n\na\n  \nb\n") == [["a"], ["b"]]
    assert rows(",") == [["", ""]]
    assert rows('""') == [[""]]
    assert rows("") == []


def test_quoted_fields_are_told_apart():
    assert read('a,b\n"7","yes"\n7,yes').rows() == [("7", "yes"), (7, True)]


def test_what_is_a_number():
    assert [value(text) for text in ("-3", "2.50", "007", "-0.5")] == [-3, 2.5, 7, -0.5]
    assert [value(text) for text in ("1e5", "+3", ".5", "5.", "1 2", "--1", "Yes")] == [
        "1e5",
        "+3",
        ".5",
        "5.",
        "1 2",
        "--1",
        "Yes",
    ]
    assert repr(value("4.0")) == "4.0"
    assert repr(value("4")) == "4"


def test_lines_of_errors():
    assert line_of('a,b\n"x\ny",1\n\n5') == 5
    assert line_of('a\n1\n"open\nmore') == 3
    assert line_of('a,b\n1,"x" y') == 2
    assert line_of("\na,b,a\n1,2,3") == 2
    assert line_of("\n \n") == 0
    assert line_of("a,b\n1,2,3") == 2
    assert line_of('a\n"x"  \n1') is None


def test_comparisons():
    assert found("people < 173") == ["Ulm", "12"]
    assert found("people <= 173") == ["Ulm", "Basel", "12"]
    assert found("people > 247") == ["Bonn"]
    assert found("people >= 247") == ["Bonn", "Kiel"]
    assert found("people = 247") == ["Kiel"]
    assert found("people != 247") == ["Ulm", "Bonn", "Linz", "Basel", "12"]
    assert found('town < "Bz"') == ["Bonn", "Basel", "12"]


def test_comparisons_with_nothing_and_between_kinds():
    assert found("people = none") == ["Linz"]
    assert found("people > none") == []
    assert found("river = none") == ["Kiel"]
    assert found('river = ""') == ["12"]
    assert found('people < "x"') == []
    assert found("town >= 12") == []
    assert found("coast > -1") == []
    assert found("coast = yes") == ["Kiel", "12"]
    assert found("coast != no") == ["Kiel", "12"]


def test_texts_within_texts():
    assert found('river has "RHI"') == ["Bonn", "Basel"]
    assert found('people has "1"') == []
    assert found("town has 12") == []
    assert found('town has ""') == ["Ulm", "Bonn", "Kiel", "Linz", "Basel", "12"]


def test_and_is_stronger_than_or():
    assert found('coast or river has "rhi" and people < 200') == ["Kiel", "Basel", "12"]
    assert found('(coast or river has "rhi") and people < 200') == ["Basel", "12"]
    assert found('river = "Danube" and people or coast and river') == ["Ulm"]


def test_not_is_strongest():
    assert found("not coast and people > 200") == ["Bonn"]
    assert found("not (coast or people > 130)") == ["Ulm", "Linz"]
    assert found("not not coast") == ["Kiel", "12"]
    assert found("river and not people") == ["Linz"]


def test_conditions_that_cannot_be_read():
    half = ("", "people >", "(coast", "coast)", "and coast", "coast or")
    for text in (*half, "people > 3 coast", "people > town", '"x" = 3', "a ! b"):
        try:
            towns().where(text)
        except QueryError as error:
            assert error.line == 0
        else:
            raise AssertionError(text)


def test_unknown_columns():
    table = read("a\n1")
    for ask in (table.select, table.sort, table.where, table.group):
        try:
            ask("b")
        except UnknownColumnError:
            pass
        else:
            raise AssertionError("there is no b")
    try:
        towns().where("coast and size > 3")
    except UnknownColumnError:
        pass
    else:
        raise AssertionError("there is no size")


def test_sorting_both_ways():
    up = towns().sort("people").select("town").rows()
    assert up == [("12",), ("Ulm",), ("Basel",), ("Kiel",), ("Bonn",), ("Linz",)]
    down = towns().sort("people", down=True).select("town").rows()
    assert down == [("Bonn",), ("Kiel",), ("Basel",), ("Ulm",), ("12",), ("Linz",)]
    kept = towns().sort("coast", True).select("town").rows()
    assert kept == [("Kiel",), ("12",), ("Ulm",), ("Bonn",), ("Linz",), ("Basel",)]


def test_sorting_numbers_and_texts():
    table = read('k\nb\n10\n"5"\n2\na\nyes')
    assert table.sort("k").rows() == [(True,), (2,), (10,), ("5",), ("a",), ("b",)]
    assert table.sort("k", down=True).rows() == [("b",), ("a",), ("5",), (10,), (2,), (True,)]


def test_sums_of_every_kind():
    table = towns().group(
        "river",
        n=("count", "people"),
        all=("sum", "people"),
        mid=("mean", "people"),
        low=("least", "people"),
        high=("most", "people"),
    )
    assert table.columns() == ["river", "n", "all", "mid", "low", "high"]
    assert table.rows() == [
        ("Danube", 1, 126, 126.0, 126, 126),
        ("Rhine", 1, 331, 331.0, 331, 331),
        (None, 1, 247, 247.0, 247, 247),
        ("rhine", 1, 173, 173.0, 173, 173),
        ("", 1, 5, 5.0, 5, 5),
    ]
    linz = towns().where("people = none")
    alone = linz.group("coast", n=("count", "people"), s=("sum", "people"), m=("mean", "people"))
    assert alone.rows() == [(False, 0, 0, None)]
    assert towns().group("coast", low=("least", "people"), mean=("mean", "people")).rows() == [
        (False, 126, 210.0),
        (True, 5, 126.0),
    ]
    try:
        towns().group("coast", x=("median", "people"))
    except QueryError:
        pass
    else:
        raise AssertionError("no such sum")


def test_tables_do_not_change():
    table = towns()
    table.sort("people")
    assert (len(table), len(table.columns())) == (6, 4)
    assert len(table.where("coast")) == 2
    assert table.select("town").rows()[0] == ("Ulm",)
