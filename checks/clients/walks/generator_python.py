"""Walks with the Python client of openapi-generator."""

import json
import os

import openapi_client as api

origin, email, password = (os.environ[name] for name in ("ORIGIN", "EMAIL", "PASSWORD"))
with open(os.environ["LINE"], encoding="utf-8") as file:
    line = json.load(file)


def client(token=None):
    return api.ApiClient(api.Configuration(host=origin, access_token=token))


sign_in = api.EmailSignIn(email=email, password=password)
session = client(api.SignInApi(client()).auth_log_in(sign_in).access_token)
minted = api.TokensApi(session).tokens_mint(api.TokenInput(name="generator", scope="write"))
script = client(minted.token)
routes = api.RoutesApi(script)
made = routes.routes_create(
    api.RouteInput(name="generator", waypoints=[api.Waypoint(coord=[9.5, 47.1])], geometry=line)
)
assert made.geometry == line, made
assert routes.routes_list(limit=1)[0].geometry == line
patched = routes.routes_update(str(made.id), api.RoutePatch(name="renamed"))
assert (patched.name, patched.geometry) == ("renamed", line), patched
collections = api.CollectionsApi(script)
assert collections.collections_create(api.CollectionInput(name="all", routeIds=[made.id])).route_ids == [made.id]
files = api.RouteFilesApi(script)
features = files.files_geojson(str(made.id)).features
assert features[0].geometry.actual_instance.coordinates == line
# The generated decoder knows JSON and text/* only.
assert b"<gpx" in files.files_gpx_without_preload_content(str(made.id)).data
archive = api.AccountDataApi(session).account_data_export_without_preload_content()
assert archive.data.startswith(b"PK")
print("openapi-generator (Python): walked")
