"""Rights of the database role that the application logs in as, where that is not the owner's."""

from django.db import connection, transaction

# Appended to and never changed, not even by who takes the application over (docs/security.md).
APPEND_ONLY = "accounts_auditentry"
FORGET = "accounts_audit_forget(timestamptz, integer)"
# Copies come without rights, and what PostgreSQL gives to everybody by default is too much.
FOR_EVERYBODY = (f"REVOKE EXECUTE ON FUNCTION {FORGET} FROM PUBLIC",)
FOR_ROLE = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    # SELECT, as a copy reads where they stand.
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
    f"REVOKE UPDATE, DELETE, TRUNCATE ON {APPEND_ONLY} FROM {{role}}",
    # Of what the owner makes later, as an upgrade does.
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public"
    " GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {role}",
)
GRANTED = """
SELECT role.rolname
FROM pg_namespace AS schema, aclexplode(schema.nspacl) AS right_of
JOIN pg_roles AS role ON role.oid = right_of.grantee
WHERE schema.nspname = 'public' AND right_of.privilege_type = 'USAGE'
  AND right_of.grantee <> schema.nspowner
  AND role.rolname NOT IN (current_user, 'pg_database_owner')
"""


def role_exists(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        return cursor.fetchone() is not None


def roles_with_grants() -> list[str]:
    """Roles that have been given the use of our tables."""
    with connection.cursor() as cursor:
        cursor.execute(GRANTED)
        return [role for (role,) in cursor.fetchall()]


@transaction.atomic
def grant(roles: list[str]) -> None:
    """Give each role what the application needs and no more; again changes nothing."""
    with connection.cursor() as cursor:
        for statement in FOR_EVERYBODY:
            cursor.execute(statement)
        for role in roles:
            for statement in FOR_ROLE:
                cursor.execute(statement.format(role=connection.ops.quote_name(role)))
