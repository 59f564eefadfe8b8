"""Walks with the client of openapi-python-client."""

import json
import os

from route_planning_service_client import AuthenticatedClient, Client
from route_planning_service_client.api.account_data import account_data_export
from route_planning_service_client.api.collections import collections_create
from route_planning_service_client.api.route_files import files_geojson, files_gpx
from route_planning_service_client.api.routes import routes_create, routes_list, routes_update
from route_planning_service_client.api.sign_in import auth_log_in
from route_planning_service_client.api.tokens import tokens_mint
from route_planning_service_client.models import (
    CollectionInput, EmailSignIn, RouteInput, RoutePatch, TokenInput, TokenScope, Waypoint,
)

origin, email, password = (os.environ[name] for name in ("ORIGIN", "EMAIL", "PASSWORD"))
with open(os.environ["LINE"], encoding="utf-8") as file:
    line = json.load(file)

signed_in = auth_log_in.sync(client=Client(origin), body=EmailSignIn(email=email, password=password))
session = AuthenticatedClient(origin, signed_in.access_token)
minted = tokens_mint.sync(client=session, body=TokenInput(name="python", scope=TokenScope.WRITE))
script = AuthenticatedClient(origin, minted.token)
made = routes_create.sync(
    client=script, body=RouteInput(name="python", waypoints=[Waypoint(coord=[9.5, 47.1])], geometry=line)
)
assert made.geometry == line, made
assert routes_list.sync(client=script, limit=1)[0].geometry == line
patched = routes_update.sync(str(made.id), client=script, body=RoutePatch(name="renamed"))
assert (patched.name, patched.geometry) == ("renamed", line), patched
collection = collections_create.sync(client=script, body=CollectionInput(name="all", route_ids=[made.id]))
assert collection.route_ids == [made.id]
assert files_geojson.sync(str(made.id), client=script).features[0].geometry.coordinates == line
assert b"<gpx" in files_gpx.sync_detailed(str(made.id), client=script).content
assert account_data_export.sync_detailed(client=session).content.startswith(b"PK")
print("openapi-python-client: walked")
