"""The role of a person is that of a membership.

Apart from the migration before, whose rows PostgreSQL checks at its end.
"""

from django.db import migrations

import backend.accounts.models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_people")]

    operations = [
        migrations.RemoveField("user", "role"),
        migrations.AlterModelManagers("user", [("objects", backend.accounts.models.People())]),
    ]
