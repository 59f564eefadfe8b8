"""What the document says in formats of its own, for Schemathesis: a JSON Schema cannot say what a polyline is."""

import schemathesis
from hypothesis import strategies as st


def written(value):
    """One number of a polyline (Google's encoded polyline algorithm)."""
    value = ~(value << 1) if value < 0 else value << 1
    text = ""
    while value >= 0x20:
        text += chr((0x20 | (value & 0x1F)) + 63)
        value >>= 5
    return text + chr(value + 63)


def encoded(positions):
    text, last = "", (0, 0)
    for position in positions:
        text += "".join(written(now - before) for now, before in zip(position, last))
        last = position
    return text


POSITION = st.tuples(st.integers(-90_000_000, 90_000_000), st.integers(-180_000_000, 180_000_000))

schemathesis.openapi.format("polyline6", st.lists(POSITION, min_size=2, max_size=20).map(encoded))
schemathesis.openapi.format(
    "bbox",
    st.tuples(st.integers(-180, 180), st.integers(-180, 180), st.integers(-90, 90), st.integers(-90, 90)).map(
        lambda box: f"{box[0]},{min(box[2:])},{box[1]},{max(box[2:])}"
    ),
)
schemathesis.openapi.format("email-address", st.emails())
schemathesis.openapi.format(
    "uri", st.from_regex(r"https://[a-z]{1,20}\.example/[a-z0-9/]{0,40}", fullmatch=True)
)


@schemathesis.serializer("application/zip")
def zip_serializer(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()
