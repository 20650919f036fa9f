from django.db import migrations, models

# Row by row for changes of rows, as a statement that matches none changes nothing and may pass.
# The setting is one that only the function below has while it runs; it is no secret, and keeps
# mistakes out. What keeps a taken-over web process out is the database role (docs/security.md).
APPEND_ONLY = """
CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('rackrate.audit_retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit trail is only appended to: % is refused', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_rows_stay BEFORE UPDATE OR DELETE ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER audit_table_stays BEFORE TRUNCATE ON accounts_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();

CREATE FUNCTION accounts_audit_forget(older_than timestamptz, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET rackrate.audit_retention = 'on' SET search_path = public, pg_temp AS $$
DECLARE
    deleted integer;
BEGIN
    IF older_than > now() - interval '90 days' THEN
        RAISE EXCEPTION 'entries of the last 90 days are kept';
    END IF;
    DELETE FROM accounts_auditentry WHERE id IN (
        SELECT id FROM accounts_auditentry WHERE at < older_than ORDER BY at LIMIT most
    );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE EXECUTE ON FUNCTION accounts_audit_forget(timestamptz, integer) FROM PUBLIC;
"""
AS_ANY_TABLE = """
DROP FUNCTION accounts_audit_forget(timestamptz, integer);
DROP TRIGGER audit_rows_stay ON accounts_auditentry;
DROP TRIGGER audit_table_stays ON accounts_auditentry;
DROP FUNCTION accounts_audit_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_max_vcpus")]

    operations = [
        migrations.AddField("auditentry", "before", models.JSONField(default=dict)),
        migrations.AddField("auditentry", "after", models.JSONField(default=dict)),
        migrations.AddField(
            "auditentry", "address", models.CharField(blank=True, max_length=45)
        ),
        migrations.AddField(
            "auditentry", "request_id", models.CharField(blank=True, max_length=64)
        ),
        migrations.RunSQL(APPEND_ONLY, AS_ANY_TABLE),
    ]
