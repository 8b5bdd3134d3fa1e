#!/bin/sh
# Installs the missing Debian packages that tests need. Needs root only when something is missing.
set -eu
list="$(dirname "$0")/debian-packages.txt"
missing=""
for package in $(cat "$list"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  printf 'Cannot install packages as this user; run as root: apt-get install%s\n' "$missing" >&2
  exit 1
fi
printf 'Installing%s\n' "$missing" >&2
# One installer at a time on this machine: apt waits for its own lock, but not for the lock on its lists.
exec 8>/var/lock/hearth-and-keep-apt.lock
flock 8
export DEBIAN_FRONTEND=noninteractive
# Prevents PostgreSQL's package from starting a server.
policy=/usr/sbin/policy-rc.d
created=""
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  created=yes
fi
trap '[ -z "$created" ] || rm -f "$policy"' EXIT
apt-get update -qq >&2
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 $missing >/dev/null
