#!/usr/bin/env bash
# Runs a command with DATABASE_URL at a PostgreSQL of the system, such as Debian's package
# postgresql: a private cluster of the newest installed version, with the server's own defaults, but
# for those that keep data through a crash of the machine. The cluster ends and is deleted with the
# command. Its role is no superuser; DATABASE_ADMIN_URL is the superuser's address, and POSTGRES_LOG
# the server's log.
#   tools/with-postgres.sh npx vitest run --project server test/api
set -euo pipefail

bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1) || true
if [ ! -x "$bin/initdb" ]; then
  echo 'There is no PostgreSQL here: install the package postgresql.' >&2
  exit 1
fi

# The server refuses to run as root; the package has a user for it.
as_owner=()
[ "$(id -u)" != 0 ] || as_owner=(runuser -u postgres --)

# A short path, because a socket's path may have at most 107 bytes.
home=$(mktemp -d /tmp/pg-XXXXXX)
stop() {
  "${as_owner[@]}" "$bin/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$home"
}
trap stop EXIT
trap 'exit 130' INT TERM
[ "$(id -u)" != 0 ] || chown postgres "$home"
cd "$home"
"${as_owner[@]}" "$bin/initdb" -D "$home/data" -U carillon --auth=trust --encoding=UTF8 --locale=C.UTF-8 >"$home/log"
"${as_owner[@]}" "$bin/pg_ctl" -D "$home/data" -l "$home/data/server.log" -w -o "-c listen_addresses= -c fsync=off -c full_page_writes=off -k $home" start >/dev/null || {
  cat "$home/log" "$home/data/server.log" >&2
  exit 1
}
cd "$OLDPWD"
"$bin/psql" -h "$home" -U carillon -d postgres -Atc 'SELECT version()'
role=carillon_service
"$bin/psql" -h "$home" -U carillon -d postgres -qc "CREATE ROLE $role LOGIN" -c "GRANT pg_monitor TO $role"
export DATABASE_ADMIN_URL="postgres://carillon@localhost/postgres?host=$home" POSTGRES_LOG="$home/data/server.log"
DATABASE_URL="postgres://$role@localhost/postgres?host=$home" "$@"
