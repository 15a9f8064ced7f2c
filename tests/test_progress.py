from dimfree.progress import nobody, of_all, one_bar


def test_accounts_are_equal_parts_of_one_work():
    told = []
    watch = of_all(lambda part, done: told.append((part, done)), 2)
    for title, done in (("chain", 0.5), ("chain", 1.0), ("ode", 0.5), ("ode", 1.0)):
        watch(title, done)
    assert told == [("chain", 0.25), ("chain", 0.5), ("ode", 0.75), ("ode", 1.0)]


def test_what_is_not_to_be_shown_is_not_shown(capfd):
    with one_bar(False) as watch:
        watch("part", 0.5)
    assert watch is nobody
    assert capfd.readouterr() == ("", "")
