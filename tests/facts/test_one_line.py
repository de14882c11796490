from fsdpwiz.facts.one_line import one_line


def test_nothing_breaks_the_line():
    assert one_line("a\nb\tc\x1b[31m\u202e") == "a\\nb\\tc\\x1b[31m\\u202e"
    assert one_line("a" * 100, limit=5) == "aaaa…"
