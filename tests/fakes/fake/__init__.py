"""A provider in a folder of this machine, registered by tests/settings.py alone."""

from backend.providers.base import (
    TOKEN,
    WORKLOAD_IDENTITY,
    AuthMethod,
    ProviderRecord,
    SecretField,
    Setting,
)

RECORD = ProviderRecord(
    slug="fake",
    name="Fake cloud",
    short_name="Fake",
    auth_methods={
        WORKLOAD_IDENTITY: AuthMethod(),
        TOKEN: AuthMethod(secret=(SecretField("token", "API token"),)),
    },
    settings={
        "folder": Setting(
            "Folder",
            r"/[A-Za-z0-9._/-]{1,300}",
            "an absolute path is needed",
            is_identity=True,
        )
    },
    required_settings=("folder",),
    rents_machines=True,
    example_region="here-1",
)
