"""Makes an account by its mailed link, and prints the credentials that the checks call with, as shell variables.

python account.py <origin> <mailbox.log> <email>
"""

import json
import re
import sys
import time
import urllib.request

origin, mailbox, email = sys.argv[1:]
PASSWORD = "correct horse of a check"


def call(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{origin}/api/v1{path}", data=data, method=method, headers=headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def mailed_token():
    for _ in range(300):
        try:
            with open(mailbox, encoding="utf-8") as mails:
                for mail in reversed(mails.readlines()):
                    found = re.search(r"verify-email\?token=([\w-]+)", mail) if email in mail else None
                    if found:
                        return found.group(1)
        except FileNotFoundError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"no mail to {email} in {mailbox}")


call("POST", "/auth/signup-email", {"email": email, "password": PASSWORD})
session = call("POST", "/auth/verify-email", {"token": mailed_token()})["accessToken"]
tokens = {
    scope: call("POST", "/auth/tokens", {"name": f"check {scope}", "scope": scope}, session)["token"]
    for scope in ("read", "write")
}
print(f"EMAIL='{email}'\nPASSWORD='{PASSWORD}'\nSESSION='{session}'")
print(f"READ='{tokens['read']}'\nWRITE='{tokens['write']}'")
