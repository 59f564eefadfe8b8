"""Holds manifests of CloudNativePG to the schemas of its resources: cloudnativepg.py SCHEMAS MANIFEST..."""
import pathlib
import sys

import yaml
from jsonschema import Draft202012Validator


def closed(schema):
    """The schema, by which a field that it does not name is a mistake: the API server would drop it."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        parts.setdefault("additionalProperties", False)
    return parts


failed = False
schemas = pathlib.Path(sys.argv[1])
for file in sys.argv[2:]:
    for document in yaml.safe_load_all(pathlib.Path(file).read_text()):
        definition = schemas / f"postgresql.cnpg.io_{document['kind'].lower()}s.yaml"
        [version] = yaml.safe_load(definition.read_text())["spec"]["versions"]
        schema = closed(version["schema"]["openAPIV3Schema"])
        for error in Draft202012Validator(schema).iter_errors(document):
            failed = True
            print(f"{file}: {document['kind']}: {error.json_path}: {error.message}")
sys.exit(failed)
