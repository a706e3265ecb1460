"""What tables should do: the tests that everybody sees."""

from tables.errors import TableError
from tables.reading import rows, value
from tables.table import read

STOCK = """name, price, sold
black tea, 12, yes
green tea, 9.5, no
honey, 7, yes
salt, , no"""


def test_fields_stand_between_separators():
    assert rows('a, b ,"c, d"\n\n1,2,3') == [["a", "b", "c, d"], ["1", "2", "3"]]


def test_values_have_kinds():
    assert [value(text) for text in ("12", "2.5", "yes", "no", "", "tea")] == [12, 2.5, True, False, None, "tea"]


def test_rows_by_a_condition():
    assert read(STOCK).where('price >= 9 and name has "tea"').rows() == [
        ("black tea", 12, True),
        ("green tea", 9.5, False),
    ]


def test_sorted_rows():
    assert [row[0] for row in read(STOCK).sort("price").rows()] == ["honey", "green tea", "black tea", "salt"]


def test_selected_columns():
    table = read(STOCK).select("sold", "name")
    assert table.columns() == ["sold", "name"]
    assert table.rows()[0] == (True, "black tea")


def test_sums_of_groups():
    table = read(STOCK).group("sold", total=("sum", "price"), best=("most", "price"))
    assert table.rows() == [(True, 19, 12), (False, 9.5, 9.5)]


def test_rows_of_another_length():
    try:
        read("a,b\n1,2\n3")
    except TableError as error:
        assert error.line == 3
    else:
        raise AssertionError("a row is too short")
