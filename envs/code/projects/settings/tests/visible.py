"""What settings should do: the tests that everybody sees."""

from settings_files.errors import CircleFault, SyntaxFault
from settings_files.files import Files


def load(text, **others):
    return Files({"main": text, **others}).load("main")


def test_values_have_kinds():
    settings = load("a = 3\nb = 2.5\nc = true\nd = some text\ne = [1, x]\nf = none")
    assert [settings.get("", key) for key in "abcdef"] == [3, 2.5, True, "some text", [1, "x"], None]


def test_sections_divide_keys():
    settings = load("port = 1\n[server]\nport = 2")
    assert (settings.get("", "port"), settings.get("server", "port")) == (1, 2)
    assert settings.sections() == ["", "server"]


def test_the_including_file_comes_first():
    settings = load("a = 1\ninclude base", base="a = 2\nb = 3")
    assert (settings.get("", "a"), settings.get("", "b")) == (1, 3)
    assert settings.origin("", "b") == ("base", 2)


def test_references():
    settings = load("host = moon\nurl = http://${host}/\n[x]\nport = ${:n}\n", base="")
    assert settings.get("", "url") == "http://moon/"


def test_sections_inherit():
    settings = load("[a]\nk = 1\n[a.b]\nj = 2")
    assert settings.get("a.b", "k") == 1
    assert settings.keys("a.b") == ["j"]


def test_files_may_not_include_themselves():
    try:
        load("include other", other="x = 1\ninclude main")
    except CircleFault as fault:
        assert (fault.file, fault.line) == ("other", 2)
    else:
        raise AssertionError("a circle")


def test_lines_that_mean_nothing():
    try:
        load("a = 1\nwhat is this")
    except SyntaxFault as fault:
        assert fault.line == 2
    else:
        raise AssertionError("it means nothing")
