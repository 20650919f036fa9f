"""All settings, each read once from the environment (documented in .env.example)."""

import datetime as dt
import socket
from pathlib import Path

from backend.config import environment as env
from backend.config import keys

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# --- security ---------------------------------------------------------------------------------
SECRET_KEY = env.text("SECRET_KEY")
# Each process is given what it needs of the keys (docs/security.md): workers open credentials, the web seals them
# and has a key for what it opens itself, beat has none.
CREDENTIAL_KEY = env.optional_key("CREDENTIAL_KEY")
CREDENTIAL_KEYS_PREVIOUS = env.keys_bytes("CREDENTIAL_KEYS_PREVIOUS")
CREDENTIAL_PUBLIC_KEY = keys.public_key(
    CREDENTIAL_KEY, stated=env.optional_key("CREDENTIAL_PUBLIC_KEY")
)
WEB_KEYS = keys.web_keys(
    env.optional_key("WEB_KEY"),
    env.keys_bytes("WEB_KEYS_PREVIOUS"),
    credential_key=CREDENTIAL_KEY,
    credential_keys_previous=CREDENTIAL_KEYS_PREVIOUS,
)
BACKUP_KEY = env.optional_key("BACKUP_KEY")
TOKEN_PEPPER = env.text("TOKEN_PEPPER")
TOKEN_PEPPERS_PREVIOUS = env.words("TOKEN_PEPPERS_PREVIOUS", "")
DEBUG = env.flag("DEBUG", False)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
PUBLIC_URL = env.text("PUBLIC_URL", "http://127.0.0.1:8000")
# Strict by default; the launcher's demo switches on what a trial needs.
PUBLIC_READ = env.flag("PUBLIC_READ", False)
SSH_ALLOW_PRIVATE = env.flag("SSH_ALLOW_PRIVATE", False)
SSH_AGENT_SOCKET = env.text("SSH_AGENT_SOCKET", "")
HTTPS_ONLY = env.flag("HTTPS_ONLY", True)
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "backend.site.access.foreign_form"
SECURE_SSL_REDIRECT = HTTPS_ONLY
# The proxy in front of the web server ends TLS and sets this header.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS_ONLY else None
# The container's own health check asks by plain HTTP and without a proxy. A program that was led on would send
# its token in the clear each time and nobody would notice: it is refused instead (core.hardening).
FOR_PROGRAMS = r"^(api|feeds)/|^metrics-prometheus$"
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", FOR_PROGRAMS]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS_ONLY else 0
# For a name of its own both are right; on a company's bare domain they would reach all its hosts.
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS_ONLY and env.flag("HSTS_SUBDOMAINS", True)
SECURE_HSTS_PRELOAD = HTTPS_ONLY and env.flag("HSTS_PRELOAD", False)
# Preloading is a promise for years that only the domain's owner can make: no fault without it.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
# With the prefix a browser takes them from this host over TLS only: no other host of the domain can
# plant a session.
_COOKIE_PREFIX = "__Host-" if HTTPS_ONLY else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
# No script or style within a page, so nonces are not needed: all of them are files of ours.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

# --- application --------------------------------------------------------------------------------
INSTALLED_APPS = [
    "backend.core.apps.AdminSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_static",
    "csp",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "backend.core",
    "backend.accounts",
    "backend.notifications",
    "backend.catalog",
    "backend.benchmarks",
    "backend.rankings",
    "backend.scenarios",
    "backend.calculators",
    "backend.search",
    "backend.bills",
    "backend.site",
    # A dotted string, not an import: the web process needs only the commands' AppConfig.
    "workers.apps.WorkersConfig",
]
MIDDLEWARE = [
    "backend.core.latency.RequestTimes",
    "backend.core.logs.RequestIds",
    "backend.core.access_log.AccessLog",
    "backend.accounts.api.trail.AuditTrail",
    "django.middleware.security.SecurityMiddleware",
    "backend.core.hardening.Headers",
    # Before whatever may answer: also a refusal has to be readable by the other site's script.
    "corsheaders.middleware.CorsMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "backend.site.language.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    # Before the next one, which reads forms.
    "backend.core.bodies.BodyLimit",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "backend.accounts.services.acting.ActingWorkspace",
    "django.contrib.messages.middleware.MessageMiddleware",
    # After authentication: what a caller may have calculated depends on who it is.
    "backend.core.work.StrangersInTurn",
    "backend.core.work.WorkLimit",
    "backend.core.work.PageLimit",
    # Inside the limits of work and bodies, so that what they refuse keeps no answer.
    "backend.accounts.api.idempotency.IdempotentRequests",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "backend.site.wrong_method.LeadOn",
    "backend.site.shown_state.ShownState",
]
# Each view says how large its body may be; Django would answer in HTML what is over one for all.
DATA_UPLOAD_MAX_MEMORY_SIZE = None
# A box for each of the ten thousand hosts that a campaign may have.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
ROOT_URLCONF = "backend.urls"
WSGI_APPLICATION = "backend.config.wsgi.application"
ASGI_APPLICATION = "backend.config.asgi.application"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "backend.accounts.services.acting.MembersBackend",
]
# Wrong passwords of one name from one address; both, so that nobody locks another person out.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = dt.timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
# It would store the address of a link that signs in; the audit trail has who came in.
AXES_DISABLE_ACCESS_LOG = True
AXES_CLIENT_IP_CALLABLE = "backend.accounts.services.sessions.address_of"
AXES_LOCKOUT_CALLABLE = "backend.accounts.pages.views.lockout_page"
# Tries to sign in from one address, whatever their names.
THROTTLE_SIGN_IN = env.text("THROTTLE_SIGN_IN", "30/min")
# Wrong passwords of one name from all addresses; beyond them a few tries a minute are taken, so that a name is
# guessed slowly and its person is not locked out.
THROTTLE_SIGN_IN_NAME = env.text("THROTTLE_SIGN_IN_NAME", "50/hour")
THROTTLE_SIGN_IN_SLOW = "6/min"
# 1: admins may what operators may, until they have set up a second factor.
TOTP_FOR_ADMINS = env.flag("TOTP_FOR_ADMINS", False)
# Single sign-on by OpenID Connect, where an issuer is named; who may come in, and as what.
OIDC_ISSUER = env.address("OIDC_ISSUER")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID", None if OIDC_ISSUER else "")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET", None if OIDC_ISSUER else "")
OIDC_NAME = env.text("OIDC_NAME", "OpenID Connect")
OIDC_ADMIT = env.admissions("OIDC_ADMIT", ("viewer", "analyst", "operator", "admin"))
# 1: the provider asks for a second factor, and we do not ask for ours after it.
OIDC_SECOND_FACTOR = env.flag("OIDC_SECOND_FACTOR", False)
# 0: nobody signs in by a password; links that work once still do.
PASSWORD_SIGN_IN = env.flag("PASSWORD_SIGN_IN", True)
# Of a browser: ends when nobody has used it for so long, and at the latest after its life.
SESSION_IDLE_S = env.whole("SESSION_IDLE_S", 24 * 3600, at_least=60)
SESSION_LIFE_S = env.whole("SESSION_LIFE_S", 14 * 24 * 3600, at_least=60)
SESSION_COOKIE_AGE = SESSION_LIFE_S
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
# Memory-hard, and in Python's own library; no second hasher, as there are no old passwords.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
# ASVS 5.0 (6.2.1) recommends 15 where a password alone lets in.
LEAST_PASSWORD = 15
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": LEAST_PASSWORD},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": "backend.accounts.services.passwords.OwnWords",
        "OPTIONS": {"min_length": LEAST_PASSWORD},
    },
]
# Of the organisation, its products and places: they do not count in a password.
PASSWORD_WORDS = env.words("PASSWORD_WORDS", "")
# A sorted file of SHA-1 hashes, as Have I Been Pwned publishes it.
BREACHED_PASSWORDS = env.text("BREACHED_PASSWORDS", "")
if BREACHED_PASSWORDS:
    AUTH_PASSWORD_VALIDATORS.append(
        {
            "NAME": "backend.accounts.services.passwords.Breached",
            "OPTIONS": {"path": BREACHED_PASSWORDS},
        }
    )
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "frontend" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            # Every template has texts to translate.
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "backend.site.navigation.navigation",
            ],
        },
    }
]
FORM_RENDERER = "backend.site.form_renderer.FormRenderer"
LANGUAGE_CODE = "en"
# The languages whose catalogues (frontend/src/locale) are complete, each by its own name.
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "frontend" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", str(BASE_DIR / ".state" / "static")))
STATICFILES_DIRS = [BASE_DIR / "frontend" / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "backend.site.provider_styles.ProviderStyles",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Names with a hash of the content: a browser keeps a file for good and still gets every new one.
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- data and queue -----------------------------------------------------------------------------
DATABASE_PASSWORD = env.text("DATABASE_PASSWORD", "")
DATABASES = {"default": env.database("DATABASE_URL", password=DATABASE_PASSWORD)}
REDIS_PASSWORD = env.text("REDIS_PASSWORD", "")
REDIS_URL = env.broker("REDIS_URL", password=REDIS_PASSWORD)
STATEMENT_TIMEOUT_S = env.whole("STATEMENT_TIMEOUT_S", 60)
# Where the processes of this machine share what they have read for rankings; "": each reads it.
SHARED_TABLES_DIR = Path(shared) if (shared := env.text("SHARED_TABLES_DIR", "")) else None
# For how long pages may go on with a state of the data that is over.
PAGES_BEHIND_S = env.whole("PAGES_BEHIND_S", 20, at_least=0)
LOCK_TIMEOUT_S = env.whole("LOCK_TIMEOUT_S", 30)
CACHES = {
    "default": {
        "BACKEND": "backend.core.redis_cache.RedisCache",
        "LOCATION": REDIS_URL,
        # Requests are counted in it, and a machine that lost power refuses nothing.
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    },
    # Of pages, as HTML of up to some 300 kB each, by all that they follow from. A minute, because some
    # say how old a price is.
    "fragments": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "TIMEOUT": 60,
        "OPTIONS": {"MAX_ENTRIES": 50},
    },
    # Of forms, as HTML of some kB.
    "fields": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "fields",
        "TIMEOUT": None,
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
}

# --- engine (design 3) --------------------------------------------------------------------------
WORKER_ID = env.identifier("WORKER_ID", socket.gethostname())
LEASE_S = env.whole("LEASE_S", 120, at_least=5)
# A run whose host gives no sign for so long is over. Raise it where links or reboots take longer.
HOST_LOST_AFTER_S = env.whole("HOST_LOST_AFTER_S", min(5 * LEASE_S, 120), at_least=5)
TICK_S = env.whole("TICK_S", 5, at_least=1)
REAP_S = env.whole("REAP_S", 60, at_least=1)
# How long a provider has to list nothing before a launch without an answer counts as none.
PROVIDER_SETTLE_S = env.whole("PROVIDER_SETTLE_S", 300, at_least=1)
BOOT_LIMIT_S = env.whole("BOOT_LIMIT_S", 900, at_least=1)
CAPACITY_WAIT_S = env.whole("CAPACITY_WAIT_S", 3600, at_least=0)
INSTALLATION = env.text("INSTALLATION", "")
CLOUD_ENDPOINTS = env.flag("CLOUD_ENDPOINTS", False)
PROBE_BUILD_DIR = Path(
    env.text(
        "PROBE_BUILD_DIR", str(BASE_DIR / "workers" / "remote" / "probes" / "native" / "build")
    )
)
FIXTURE_DIR = BASE_DIR / "fixtures"

# --- retention (days; 0 keeps for good) --------------------------------------------------------------
RETAIN_SESSIONS_DAYS = env.whole("RETAIN_SESSIONS_DAYS", 1)
RETAIN_NOTICES_DAYS = env.whole("RETAIN_NOTICES_DAYS", 90)
RETAIN_PAYLOADS_DAYS = env.whole("RETAIN_PAYLOADS_DAYS", 90)
RETAIN_STEPS_DAYS = env.whole("RETAIN_STEPS_DAYS", 365)
RETAIN_EVENTS_DAYS = env.whole("RETAIN_EVENTS_DAYS", 730)
RETAIN_SERIES_DAYS = env.whole("RETAIN_SERIES_DAYS", 90)
RETAIN_EVIDENCE_DAYS = env.whole("RETAIN_EVIDENCE_DAYS", 365)
EVIDENCE_STORE = env.bucket("EVIDENCE_STORE")
EVIDENCE_STORE_ENDPOINT = env.address("EVIDENCE_STORE_ENDPOINT")
EVIDENCE_STORE_REGION = env.text("EVIDENCE_STORE_REGION", "us-east-1")
EVIDENCE_STORE_KEY_ID = env.text("EVIDENCE_STORE_KEY_ID", "")
EVIDENCE_STORE_SECRET = env.text("EVIDENCE_STORE_SECRET", "")
EVIDENCE_STORE_AFTER_DAYS = env.whole("EVIDENCE_STORE_AFTER_DAYS", 30, at_least=1)
RETAIN_JOB_RESULTS_DAYS = env.whole("RETAIN_JOB_RESULTS_DAYS", 7)
RETAIN_JOBS_DAYS = env.whole("RETAIN_JOBS_DAYS", 90)
RETAIN_AUDIT_DAYS = env.whole("RETAIN_AUDIT_DAYS", 730)

# --- prices -------------------------------------------------------------------------------------
PRICE_REFRESH_DAYS = env.whole("PRICE_REFRESH_DAYS", 7)
FETCH_LOOK_S = env.whole("FETCH_LOOK_S", 60, at_least=1)
PRICE_ENDPOINTS = env.pairs("PRICE_ENDPOINTS")

# --- notices ------------------------------------------------------------------------------------
WEBHOOK_ALLOW_PRIVATE = env.flag("WEBHOOK_ALLOW_PRIVATE", False)
_mail = env.mail("EMAIL_URL")
EMAIL_HOST = _mail.host
EMAIL_PORT = _mail.port
EMAIL_HOST_USER = _mail.username
EMAIL_HOST_PASSWORD = _mail.password
EMAIL_USE_TLS = _mail.is_starttls
EMAIL_USE_SSL = _mail.is_tls
# A mail server that hangs would otherwise keep the worker of all notices.
EMAIL_TIMEOUT = 15
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", "rackrate@localhost")

# --- API ----------------------------------------------------------------------------------------
THROTTLE_TOKEN = env.text("THROTTLE_TOKEN", "12000/min")
# In steps of a simulation; seconds and calculations at once are those of one request and process.
WORK_RATE_TOKEN = env.text("WORK_RATE_TOKEN", "2400000000/min")
WORK_RATE_ANONYMOUS = env.text("WORK_RATE_ANONYMOUS", "240000000/min")
# A stranger's request of 53 kB once kept a process for ten seconds, eight of them the whole site.
WORK_ANONYMOUS_STEPS = env.whole("WORK_ANONYMOUS_STEPS", 30_000_000, at_least=1)
WORK_SIGNED_IN_S = env.whole("WORK_SIGNED_IN_S", 60, at_least=1)
WORK_ANONYMOUS_S = env.whole("WORK_ANONYMOUS_S", 10, at_least=1)
# What workers calculate for those who do not wait is counted as jobs that are not done.
SCENARIO_JOBS_OPEN = env.whole("SCENARIO_JOBS_OPEN", 10, at_least=1)
WORK_AT_ONCE = env.whole("WORK_AT_ONCE", 1, at_least=1)
THROTTLE_ANONYMOUS = env.text("THROTTLE_ANONYMOUS", "600/min")
# Pages of people who have not signed in, by address: behind one there may be a whole office.
THROTTLE_PAGES = env.text("THROTTLE_PAGES", "3000/min")
# 0: no view is opened by a key in an address, which proxies and spreadsheets write down.
FEEDS = env.flag("FEEDS", True)
# Tokens and feed keys that are wrong, by address.
THROTTLE_REFUSED = env.text("THROTTLE_REFUSED", "30/min")
# Other sites whose scripts may call the API, with a token of theirs: cookies are never sent along.
CORS_ALLOWED_ORIGINS = [origin for origin in env.words("CORS_ORIGINS", "") if origin != "*"]
CORS_ALLOW_ALL_ORIGINS = "*" in env.words("CORS_ORIGINS", "")
CORS_ALLOW_CREDENTIALS = False
CORS_URLS_REGEX = r"^/(api/v1|feeds)/"
CORS_ALLOW_HEADERS = [
    "accept",
    "authorization",
    "content-type",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "prefer",
]
CORS_EXPOSE_HEADERS = [
    "ETag",
    "Idempotency-Replayed",
    "Link",
    "Location",
    "Preference-Applied",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "X-Data-Version",
    "X-Schema-Version",
    "X-Total-Count",
    "X-Warning",
]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "backend.accounts.api.authentication.TokenAuthentication",
        "backend.accounts.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["backend.core.rest.permissions.ScopePermission"],
    # No browsable API: its pages need inline scripts, which the policy forbids.
    "DEFAULT_RENDERER_CLASSES": ["backend.core.rest.renderers.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["backend.core.rest.parsers.SingleKeysJSONParser"],
    "DEFAULT_THROTTLE_CLASSES": [
        "backend.core.rest.throttles.TokenThrottle",
        "backend.core.rest.throttles.AddressThrottle",
    ],
    "DEFAULT_SCHEMA_CLASS": "backend.core.rest.openapi.ViewSchema",
    "EXCEPTION_HANDLER": "backend.core.rest.problem.exception_handler",
    # A JSON number is read as a float, which would lose digits of an amount.
    "COERCE_DECIMAL_TO_STRING": True,
    # The suffix of an address chooses the format, not a parameter.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Rackrate",
    "DESCRIPTION": (
        "What a unit of performance costs, with the evidence. A list answers in JSON pages; with"
        " .csv, .tsv, .xlsx or .json at the end of its address, or by Accept, in that format and,"
        " but for JSON, as a whole. Unknown parameters are named in X-Warning and change nothing."
    ),
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "backend.api.openapi.without_null_enum",
        "backend.api.examples.add_examples",
    ],
    # Fields of one name that choose from different words.
    "ENUM_NAME_OVERRIDES": {
        "NoticeKindEnum": "backend.notifications.models.NoticeKind.values",
        "OfferKindEnum": "backend.catalog.models.OfferKind.values",
        # Of documents whose only version has two names for its member.
        "SchemaEnum": [(1, 1)],
    },
    # From a package and not from a CDN: a browser here asks no other host.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# What a page of DEBUG shows, and what is reported of an error.
DEFAULT_EXCEPTION_REPORTER = "backend.core.logs.ScrubbingReporter"
LOG_FILE = env.text("LOG_FILE", "")
# A line for each request: who asked for which path, from where, and how it was answered.
ACCESS_LOG = env.flag("ACCESS_LOG", False)
# For what collects logs: an object a line, with the ids of requests and runs.
LOG_FORMAT = "json" if env.flag("LOG_JSON", False) else "line"
LOGGING = {
    "version": 1,
    # Modules make their loggers before this is read.
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "backend.core.logs.MaskingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"()": "backend.core.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            # With a file for everything, the terminal shows only what somebody should look at.
            "level": "WARNING" if LOG_FILE else "NOTSET",
        },
        **(
            {
                "file": {
                    "class": "logging.FileHandler",
                    "formatter": LOG_FORMAT,
                    "filename": LOG_FILE,
                }
            }
            if LOG_FILE
            else {}
        ),
    },
    "root": {
        "handlers": ["stderr", *(["file"] if LOG_FILE else [])],
        "level": env.text("LOG_LEVEL", "INFO"),
    },
    "loggers": {
        # They print every address that is called, and that of a webhook may contain a token.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        # The same with all headers.
        "azure": {"level": "WARNING"},
        # Three lines for each tick, every five seconds: ten megabytes a day that say that all is well.
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # It prints the address at each sign-in, and that of a link is a secret.
        "axes": {"level": "WARNING"},
        # Named so that they lose Django's own handlers, which would print a feed's key.
        "django": {"level": "INFO"},
        "django.server": {"level": "INFO", "propagate": True},
    },
}
