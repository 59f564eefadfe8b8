"""What Schemathesis cannot read in the document: formats of its own, and rules that it tells in words.

Also keeps alive the session that the check calls with.
"""

import functools
import json
import os
import re
import urllib.error
import urllib.request

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
schemathesis.openapi.format(
    "uri", st.from_regex(r"https://[a-z]{1,20}\.example/[a-z0-9/]{0,40}", fullmatch=True)
)


@schemathesis.serializer(
    "application/zip", "application/gzip", "application/vnd.ant.fit", "application/vnd.google-earth.kmz"
)
def file_serializer(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


WORD = re.compile(r"[^\W_]+")
MAX_WORDS = 10


def satisfy(query):
    """What no schema says: a cursor is signed, a range has an order, a search has words, and a rank needs a search."""
    query.pop("cursor", None)
    if "maxDistance" in query:
        query.pop("minDistance", None)
    if query.get("sort") == "relevance":
        query.setdefault("q", "around")
    if "q" in query and not 1 <= len(WORD.findall(query["q"])) <= MAX_WORDS:
        query["q"] = "around"


bearer = {"first": os.environ.get("TOKEN", ""), "last": os.environ.get("TOKEN", "")}


def renew(case):
    """A JWT ends after a quarter of an hour, and each response has a new one."""
    headers = case.headers or {}
    if bearer["first"] and headers.get("Authorization") == f"Bearer {bearer['first']}":
        headers["Authorization"] = f"Bearer {bearer['last']}"


@schemathesis.hook
def after_call(context, case, response):
    bearer["last"] = response.headers.get("x-access-token", [bearer["last"]])[0]


NO_SESSION = "00000000-0000-0000-0000-000000000000"


@functools.cache
def own_session():
    """The id of the session that the check calls with; that of no session for other callers."""
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    request = urllib.request.Request(f"{os.environ['ORIGIN']}/api/v1/me/sessions", headers=headers)
    try:
        with urllib.request.urlopen(request) as response:
            return next(session["id"] for session in json.load(response) if session["current"])
    except urllib.error.HTTPError:
        return NO_SESSION


def spare_own_session(case):
    """Listed ids are tried again: without its session the check would only see 401 from there on."""
    if case.path.endswith("/me/sessions/{id}") and case.path_parameters.get("id") == own_session():
        case.path_parameters["id"] = NO_SESSION


MAX_TAGS = 10


def routes_in(body):
    """A body, which may be a route, and the routes and changes of a batch."""
    operations = body.get("operations")
    nested = operations if isinstance(operations, list) else []
    inside = [one.get(name) for one in nested if isinstance(one, dict) for name in ("route", "changes")]
    return [route for route in [body, *inside] if isinstance(route, dict)]


def keep_too_many(route):
    """Tags that are the same are one: too many must differ."""
    tags = route.get("tags")
    if isinstance(tags, list) and len(tags) > MAX_TAGS:
        route["tags"] = [f"tag-{number}" for number in range(len(tags))]


ADDRESS = re.compile(r"[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+")


EDGES = re.compile(r"^[\s\ufeff]+|[\s\ufeff]+$")


def untrimmed(value):
    """Texts are trimmed before they are measured: what is too long must be so without its edges."""
    if isinstance(value, dict):
        return {name: untrimmed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [untrimmed(member) for member in value]
    if not isinstance(value, str) or not EDGES.sub("", value):
        return value
    return EDGES.sub(lambda edge: "*" * len(edge[0]), value)


def broken(path, body):
    """A copy, since valid requests are made of the same objects."""
    body = untrimmed(body)
    # The pattern is the rule of an address, and its format a hint: what has the pattern is accepted.
    if isinstance(body.get("email"), str) and ADDRESS.fullmatch(body["email"]):
        body["email"] = "no address"
    # Otherwise each operation has a result of its own, and the response is 200.
    if path.endswith("/routes/batch") and (body.get("atomic") is None or body["atomic"] is False):
        body["atomic"] = True
    return body


def in_future(body):
    if isinstance(body, dict) and body.get("expiresAt") is not None:
        body["expiresAt"] = "2999-01-01T00:00:00Z"


def satisfy_route(route):
    # Cues, segments and surfaces are of the positions of the line.
    for name in ("cues", "segments", "surfaces"):
        route.pop(name, None)
    if route.get("recordedAt") is not None:
        route["recordedAt"] = "2026-06-01T08:00:00Z"
    # It may be made without its format.
    if route.get("polyline6"):
        route["polyline6"] = encoded([(47_100_000, 9_500_000), (47_200_000, 9_600_000)])
    if route.get("geometry") and route.get("polyline6"):
        route.pop("geometry")


def satisfy_operation(operation):
    """It changes, opens and expects one thing, and refers to what is there, be it nothing."""
    if operation.get("ifMatch") is not None:
        operation["ifMatch"] = "*"
        operation.pop("ifVersion", None)
    if operation["op"].endswith("Link") and (operation.get("routeId") is None) == (operation.get("collectionId") is None):
        operation.pop("collectionId", None)
        operation["routeId"] = 12
    for name in ("link", "changes"):
        in_future(operation.get(name))
    for body in (operation, operation.get("collection"), operation.get("changes")):
        if isinstance(body, dict):
            for name in ("routeId", "collectionId"):
                if isinstance(body.get(name), str):
                    body[name] = 12
            if isinstance(body.get("routeIds"), list):
                body["routeIds"] = [id for id in body["routeIds"] if not isinstance(id, str)]


@schemathesis.check
def operations_accepted(ctx, response, case):
    """The response to a batch is 200 also where an operation is refused."""
    if not case.path.endswith("/routes/batch") or response.status_code != 200:
        return
    if case.meta is not None and case.meta.generation.mode.is_positive:
        refused = [result for result in response.json()["results"] if result["status"] == 400]
        assert not refused, f"Valid operations are refused: {refused}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes a valid request satisfy the rules that the document tells in words, and an invalid one break them."""
    spare_own_session(case)
    renew(case)
    routes = routes_in(case.body) if isinstance(case.body, dict) else []
    for route in routes:
        keep_too_many(route)
    if case.meta is None:
        return
    if not case.meta.generation.mode.is_positive:
        if isinstance(case.body, dict):
            case.body = broken(case.path, case.body)
        return
    if case.query:
        satisfy(case.query)
    # A key that was sent with another body is refused.
    if case.headers:
        case.headers.pop("Idempotency-Key", None)
        # In haste it is made without its pattern.
        if '"' not in case.headers.get("If-Match", "*"):
            case.headers["If-Match"] = "*"
    for route in routes:
        satisfy_route(route)
    if not isinstance(case.body, dict):
        return
    in_future(case.body)
    if case.path.endswith("/routes/batch"):
        for operation in case.body["operations"]:
            satisfy_operation(operation)
    if case.path.endswith("/auth/tokens") and "expiresInDays" in case.body and "PASSWORD" in os.environ:
        # One without an end needs it.
        case.body["currentPassword"] = os.environ["PASSWORD"]
    if case.path.endswith("/routing/elevation") and not (case.body.get("geometry") or case.body.get("polyline6")):
        case.body["geometry"] = [[9.5, 47.1], [9.6, 47.2]]
