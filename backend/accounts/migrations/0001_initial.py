import backend.accounts.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
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


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=100)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('site', models.CharField(max_length=200)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', backend.accounts.models.People()),
            ],
        ),
        migrations.CreateModel(
            name='Authenticator',
            fields=[
                ('user', models.ForeignKey(help_text='The user that this device belongs to.', on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(help_text='The human-readable name of this device.', max_length=64)),
                ('confirmed', models.BooleanField(default=True, help_text='Is this device ready for use?')),
                ('throttling_failure_timestamp', models.DateTimeField(blank=True, default=None, help_text='A timestamp of the last failed verification attempt. Null if last attempt succeeded.', null=True)),
                ('throttling_failure_count', models.PositiveIntegerField(default=0, help_text='Number of successive failed attempts.')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sealed_key', models.BinaryField()),
                ('drift', models.SmallIntegerField(default=0)),
                ('last_t', models.BigIntegerField(default=-1)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.workspace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('read', 'Viewer'), ('write', 'Analyst'), ('run', 'Operator'), ('admin', 'Admin')], default='read', max_length=8)),
            ],
            options={
                'ordering': ('user__username',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'user'), name='member_once_a_workspace')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.workspace')),
                ('role', models.CharField(choices=[('read', 'Viewer'), ('write', 'Analyst'), ('run', 'Operator'), ('admin', 'Admin')], default='read', max_length=8)),
                ('note', models.CharField(blank=True, max_length=100)),
                ('invited_by', models.CharField(max_length=150)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('expires_at',),
            },
        ),
        migrations.CreateModel(
            name='SignInLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_link', to=settings.AUTH_USER_MODEL)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ExternalIdentity',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='external_identities', to=settings.AUTH_USER_MODEL)),
                ('issuer', models.CharField(max_length=255)),
                ('subject', models.CharField(max_length=255)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='external_identity_once')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tokens', to='accounts.workspace')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=100)),
                ('lookup', models.CharField(max_length=8, unique=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('scope', models.CharField(choices=[('read', 'Viewer'), ('write', 'Analyst'), ('run', 'Operator'), ('admin', 'Admin')], max_length=8)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('workspace', 'name'), name='token_name_once')],
            },
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('caller', models.CharField(max_length=50)),
                ('key', models.CharField(max_length=255)),
                ('request_sha256', models.BinaryField(max_length=32)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('headers', models.JSONField(default=dict)),
                ('sealed_body', models.BinaryField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='kept_answer_age')],
                'constraints': [models.UniqueConstraint(fields=('caller', 'key'), name='idempotency_key_once')],
            },
        ),
        migrations.CreateModel(
            name='CloudAccount',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cloud_accounts', to='accounts.workspace')),
                ('name', models.CharField(max_length=100)),
                ('provider', models.CharField(max_length=50)),
                ('access', models.CharField(choices=[('workload_identity', "identity of the worker's own machine"), ('assume_role', 'role to assume, with an external id'), ('token', 'API token'), ('static_key', 'static key')], max_length=20)),
                ('settings', models.JSONField(default=dict)),
                ('sealed_secret', models.BinaryField(null=True)),
                ('secret_set_at', models.DateTimeField(null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('max_machines', models.PositiveIntegerField(default=20)),
                ('max_vcpus', models.PositiveIntegerField(null=True)),
                ('budget_amount', models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ('budget_currency', models.CharField(blank=True, max_length=3)),
                ('calls_left', models.FloatField(default=0)),
                ('calls_at', models.DateTimeField(null=True)),
                ('calls_ending_left', models.FloatField(default=0)),
                ('calls_ending_at', models.DateTimeField(null=True)),
                ('identity', models.CharField(blank=True, max_length=300)),
                ('check_requested_at', models.DateTimeField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('preflight', models.JSONField(default=list)),
                ('preflight_at', models.DateTimeField(null=True)),
                ('check_error', models.TextField(blank=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('looked_at', models.DateTimeField(null=True)),
                ('reaped_at', models.DateTimeField(null=True)),
                ('reap_error', models.TextField(blank=True)),
                ('failed_looks', models.PositiveIntegerField(default=0)),
                ('ending', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ('created_at',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='cloud_account_name_once_a_workspace')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audit', to='accounts.workspace')),
                ('actor', models.CharField(max_length=150)),
                ('action', models.CharField(max_length=50)),
                ('object_type', models.CharField(max_length=50)),
                ('object_id', models.CharField(max_length=100)),
                ('detail', models.JSONField(default=dict)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('request_id', models.CharField(blank=True, max_length=64)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'ordering': ('-at', '-id'),
            },
        ),
        migrations.RunSQL(APPEND_ONLY),
    ]
