"""What settings should do: the tests that judge a repair."""

from settings_files.errors import CircleFault, ConfigError, DuplicateFault, ReferenceFault, SyntaxFault
from settings_files.files import Files
from settings_files.values import value, written


def load(text, **others):
    return Files({"main": text, **others}).load("main")


def syntax_line(text):
    try:
        load(text)
    except SyntaxFault as fault:
        return fault.line
    return None


def reference_place(settings, section, key):
    try:
        settings.get(section, key)
    except ReferenceFault as fault:
        return (fault.file, fault.line)
    return None


def test_values_of_every_kind():
    assert [value(text) for text in ("-7", "0.50", "-1.5", "true", "false", "none")] == [
        -7,
        0.5,
        -1.5,
        True,
        False,
        None,
    ]
    assert [value(text) for text in ("1.", ".5", "1e3", "True", "a b ", '" 1 "', '""')] == [
        "1.",
        ".5",
        "1e3",
        "True",
        "a b",
        " 1 ",
        "",
    ]


def test_lists_hold_values():
    assert value("[]") == []
    assert value("[ ]") == []
    assert value('[1, two,"a, b" , false]') == [1, "two", "a, b", False]
    assert value("[x]") == ["x"]
    assert value("[x") == "[x"


def test_empty_and_open_values():
    assert syntax_line("a = 1\n\nb =") == 3
    assert syntax_line("a = [1,,2]") == 1
    assert syntax_line('a = "x') == 1
    assert syntax_line('a = "x" y') == 1
    assert syntax_line('a = "x"y"') == 1
    assert syntax_line("a =  # nothing") == 1


def test_what_is_no_line():
    assert syntax_line("[a b]") == 1
    assert syntax_line("x = 1\n[a.]") == 2
    assert syntax_line("include") == 1
    assert syntax_line("a b = 1") == 1
    assert syntax_line("= 1") == 1
    assert syntax_line("[a.b]\n k-2_x = 1 \n  [c]  ") is None


def test_comments_begin_after_a_blank():
    settings = load('# all\n  # more\na = 1 # one\nb = x#y\nc = "p # q" # r\nd = [1, 2] # e')
    assert settings.flat() == {"a": 1, "b": "x#y", "c": "p # q", "d": [1, 2]}


def test_keys_stand_once_in_a_section():
    for text, line in (("a = 1\na = 1", 2), ("[s]\na = 1\n[t]\na = 2\n[s]\nb = 1\na = 3", 7)):
        try:
            load(text)
        except DuplicateFault as fault:
            assert (fault.file, fault.line) == ("main", line)
        else:
            raise AssertionError(text)
    assert load("[s]\na = 1\n[t]\na = 2\n[s]\nb = 3").keys("s") == ["a", "b"]


def test_later_includes_come_before_earlier_ones():
    settings = load(
        "include one\n[s]\nk = 0\ninclude two",
        one="a = 1\nb = 1\nc = 1\n[s]\nk = 1",
        two="[s]\nk = 2\nj = 2\ninclude three",
        three="b = 3\nc = 3\n[s]\nj = 3\ni = 3",
    )
    assert settings.flat() == {"a": 1, "b": 3, "c": 3, "s.i": 3, "s.j": 2, "s.k": 0}
    assert settings.origin("s", "j") == ("two", 3)
    assert settings.origin("s", "k") == ("main", 3)


def test_one_file_by_two_ways():
    settings = load(
        "include left\ninclude right", left="include base\na = 1", right="include base\nb = 2", base="a = 0"
    )
    assert settings.flat() == {"a": 0, "b": 2}


def test_circles_of_files():
    files = Files({"a": "\ninclude b", "b": "include c", "c": "x = 1\n\ninclude b", "d": "include d"})
    for name, place in (("a", ("c", 3)), ("c", ("b", 1)), ("d", ("d", 1))):
        try:
            files.load(name)
        except CircleFault as fault:
            assert (fault.file, fault.line) == place
        else:
            raise AssertionError(name)


def test_files_that_are_not_there():
    files = Files({"a": "x = 1\ninclude b"})
    for name, place in (("a", ("a", 2)), ("b", ("b", 0))):
        try:
            files.load(name)
        except ConfigError as fault:
            assert (fault.file, fault.line) == place
        else:
            raise AssertionError(name)


def test_references_keep_their_kind_when_alone():
    settings = load('n = 8\nl = [1, true, x]\nz = none\na = ${n}\nb = "${l}"\nc = n${n}, ${l}, ${z}\nd = [${n}, v${n}]')
    assert settings.get("", "a") == 8
    assert settings.get("", "b") == [1, True, "x"]
    assert settings.get("", "c") == "n8, 1, true, x, none"
    assert settings.get("", "d") == [8, "v8"]


def test_references_to_other_sections():
    settings = load("k = top\n[s]\nk = own\na = ${k}\nb = ${:k}\nc = ${t.u:k}\n[t]\nk = higher\n[t.u]\nj = 1\nm = ${k}")
    assert [settings.get("s", key) for key in "abc"] == ["own", "top", "higher"]
    assert settings.get("t.u", "m") == "higher"


def test_references_look_at_all_files():
    settings = load("name = new\ninclude base", base="name = old\ntext = ${name}!\nmore = ${text}?")
    assert settings.get("", "text") == "new!"
    assert settings.get("", "more") == "new!?"


def test_bare_marks():
    settings = load("n = 1\na = $${n}\nb = $n ${n}$\nc = $${${n}")
    assert [settings.get("", key) for key in "abc"] == ["${n}", "$n 1$", "${1"]


def test_references_that_lead_nowhere():
    settings = load("a = ${b}\nb = x ${c}\nc = [1, ${a}]\nd = ${nothing}\n[s]\ne = ${:d}\nf = ${t:d}\ng = 1")
    assert reference_place(settings, "", "a") == ("main", 1)
    assert reference_place(settings, "", "c") == ("main", 3)
    assert reference_place(settings, "", "d") == ("main", 4)
    assert reference_place(settings, "s", "e") == ("main", 6)
    assert reference_place(settings, "s", "g") is None
    try:
        settings.flat()
    except ReferenceFault as fault:
        assert fault.line == 1
    else:
        raise AssertionError("a refers to itself")


def test_inheriting_from_sections_above():
    settings = load("x = 0\ny = 0\n[a]\ny = 1\nz = 1\n[a.b.c]\nz = 3")
    assert [settings.get("a.b.c", key) for key in "xyz"] == [0, 1, 3]
    assert [settings.get("a.b", key) for key in "xyz"] == [0, 1, 1]
    assert settings.get("ab", "z") is None
    assert settings.get("a.b", "q", 9) == 9
    assert settings.get("", "z", "no") == "no"
    assert settings.sections() == ["", "a", "a.b.c"]
    assert (settings.keys("a.b"), settings.keys("a")) == ([], ["y", "z"])


def test_origins_and_defaults():
    settings = load("[e]\n[s]\nk = none")
    assert settings.get("s", "k", 5) is None
    assert settings.sections() == ["s"]
    for section, key in (("s.t", "k"), ("", "k"), ("s", "j")):
        try:
            settings.origin(section, key)
        except KeyError:
            pass
        else:
            raise AssertionError(section)


def test_values_as_they_stand_in_texts():
    assert [written(item) for item in (True, False, None, 1, 0, 2.5, "x")] == [
        "true",
        "false",
        "none",
        "1",
        "0",
        "2.5",
        "x",
    ]
    assert written([1, None, "a b"]) == "1, none, a b"
    assert written([]) == ""
