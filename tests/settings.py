"""Settings of the tests: those of production and a faked provider, with stand-ins for what the
environment does not name.

`./rackrate test` names the services that it started. Plain pytest runs what needs none of them.
"""

import os

# The address that stands for a service nobody started.
NO_SERVICE = "127.0.0.1:1"

for _name, _value in {
    "DATABASE_URL": f"postgresql://rackrate:unused@{NO_SERVICE}/rackrate",
    "REDIS_URL": f"redis://{NO_SERVICE}/0",
    "SECRET_KEY": "stand-in-for-tests-only-0123456789-abcdefghijklmnopqrstuvwxyz",
    "CREDENTIAL_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    "TOKEN_PEPPER": "stand-in-for-tests-only-0123456789",
    "HTTPS_ONLY": "0",
    "PUBLIC_READ": "1",
    "SSH_ALLOW_PRIVATE": "1",
    "CAPACITY_WAIT_S": "0",
    # A test reads what it wrote a moment ago.
    "PAGES_BEHIND_S": "0",
}.items():
    os.environ.setdefault(_name, _value)

# Each test process has a numbered database of the broker to itself: counters are never shared.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if _worker:
    _server = os.environ["REDIS_URL"].rpartition("/")[0]
    os.environ["REDIS_URL"] = f"{_server}/{int(_worker.removeprefix('gw')) + 1}"

from tests.fakes.settings import *  # noqa: E402, F403
from tests.fakes.settings import DATABASES as _DATABASES  # noqa: E402
from tests.fakes.settings import MIDDLEWARE as _MIDDLEWARE  # noqa: E402
from tests.fakes.settings import PASSWORD_HASHERS as _PASSWORD_HASHERS  # noqa: E402

# A statement that is planned badly fails its test instead of stopping the suite.
_DATABASES["default"]["OPTIONS"]["options"] = "-c statement_timeout=5min"

if "MIGRATED_COPIES" in os.environ:
    _DATABASES["default"]["TEST"] = {"TEMPLATE": _DATABASES["default"]["NAME"]}

# Passwords that cost nothing to make and to try; a stored one of production's is known, too.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *_PASSWORD_HASHERS]

# It lists every static file anew for each client of a test, and no client asks for one: the browser
# gets them from the live server, and those of `./rackrate up` from production's settings.
MIDDLEWARE = [name for name in _MIDDLEWARE if not name.startswith("whitenoise.")]

# Programs that a test starts run with the settings of production.
os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
