from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.facts.visible_devices import Chosen, chosen_devices

UUIDS = ["GPU-aa11", "GPU-aa22", None, "GPU-bb33"]


def indices(value):
    return [device.index for device in chosen_devices(value, UUIDS)]


def test_absent_shows_all():
    assert indices(None) == [0, 1, 2, 3]


def test_indices_in_the_order_given():
    assert indices("3,0") == [3, 0]
    assert indices(" 1 , 2 ") == [1, 2]


def test_nothing_after_the_first_bad_entry():
    assert indices("1,x,2") == [1]
    assert indices("-1,0") == []
    assert indices("0,,1") == [0]
    assert indices("٣") == []


def test_a_uuid_may_be_cut_short_while_unique():
    assert indices("GPU-bb") == [3]
    assert indices("GPU-aa") == []


def test_a_card_named_twice_shows_none():
    assert indices("0,1,0") == []
    assert indices("0,GPU-aa11") == []


def test_slices_by_id():
    assert chosen_devices("MIG-1", UUIDS) == (Chosen(mig="MIG-1"),)


@given(st.text(max_size=60))
def test_any_text_gives_known_devices(value):
    chosen = chosen_devices(value, UUIDS)
    assert len(set(chosen)) == len(chosen)
    assert all(device.mig or 0 <= device.index < len(UUIDS) for device in chosen)
