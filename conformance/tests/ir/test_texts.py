"""Texts with values in them: as parts, and as one string."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.texts import Format, as_message, count, parts_of

WORDS = st.text(st.sampled_from("ab{}: .3"), min_size=1).filter(lambda text: parts_of(text) == (text,))
PARTS = st.lists(st.one_of(WORDS, st.none(), st.builds(Format, st.sampled_from([".3f", "5d", ">8", "x"]))))


@given(PARTS)
def test_a_message_gives_its_parts_back(parts):
    joined = [p for k, p in enumerate(parts) if not (isinstance(p, str) and k and isinstance(parts[k - 1], str))]
    texts = [p for p in joined if isinstance(p, str)]
    if "".join(texts) == as_message(texts):  # text that meets text or a value may look like a value
        returned = parts_of(as_message(joined))
        assert [p for p in returned if not isinstance(p, str)] == [p for p in joined if not isinstance(p, str)]
        assert count(returned) == count(joined)


@pytest.mark.parametrize("text", ["{}", "a {} b", "{:.3f}", "{{}}", "{:}", "{: }"])
def test_text_that_looks_like_a_value_is_kept_from_being_one(text):
    assert count(parts_of(as_message([text]))) == 0


def test_digits_are_kept_by_what_only_places_them():
    keeping = {
        spec: Format(spec).keeps_digits for spec in ["8", "<12", "+", ".3f", "e", "%", "012.4", "e<5", "_^9", "g"]
    }
    assert [spec for spec, keeps in keeping.items() if keeps] == ["8", "<12", "+", "e<5", "_^9"]


def test_formats_stand_in_the_text_form_of_prints():
    text = """kernel @k(%n: i32) {
  print "n is ", %n as "05d", " or ", %n, "\\n"
  return
}
"""
    kernel = parse_ir(text)
    assert kernel.body.ops[0].attrs["parts"] == ("n is ", Format("05d"), " or ", None, "\n")
    assert print_ir(kernel) == text
