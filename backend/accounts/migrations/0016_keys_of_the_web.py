"""What the web process opens itself goes from the key of the credentials to the web's own."""

from django.conf import settings
from django.db import migrations

from backend.common.crypto import WEB, KeyMissing, SealBroken, is_current, rewrapped


def move(apps, schema):
    """Values that no key here opens stay: of a copy from elsewhere `rotate_keys` names them."""
    for model, column in (("Authenticator", "sealed_key"), ("KeptAnswer", "sealed_body")):
        rows = apps.get_model("accounts", model).objects.exclude(**{column: None})
        for pk, stored in rows.values_list("pk", column).iterator():
            value = bytes(stored)
            try:
                if is_current(value, ring=WEB):
                    continue
                moved = rewrapped(value, identity=f"{model.lower()}:{pk}", ring=WEB)
            except SealBroken:
                # Without the key all would stay, and nobody with a second factor could sign in.
                if not settings.CREDENTIAL_KEY:
                    raise KeyMissing(
                        "second factors of before need CREDENTIAL_KEY, which this process does not have"
                    ) from None
                continue
            rows.filter(pk=pk).update(**{column: moved})


class Migration(migrations.Migration):
    dependencies = [("accounts", "0015_external_identities")]
    operations = [migrations.RunPython(move, migrations.RunPython.noop)]
