#!/bin/sh
# Runs a script of this repository with the pinned Node.js, whatever version the machine has:
#   sh scripts/with-node.sh [--no-install] [FILE.ts [ARGUMENT ...]]
# Downloads Node.js and npm into the cache folder, installs the locked packages and runs the file; without a file it
# only prepares. --no-install skips the packages, for a script that needs none: `npm ci` rejects a lock that does not
# match package.json, which is when relock.ts is needed.
# Written for a POSIX shell, because it runs before anything is installed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
HEARTH_AND_KEEP_CACHE=${HEARTH_AND_KEEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hearth-and-keep}
export HEARTH_AND_KEEP_CACHE
mkdir -p "$HEARTH_AND_KEEP_CACHE"

fingerprint() { cat "$@" | sha256sum | cut -c1-16; }
log() { printf '%s\n' "$1" >&2; }

use_pinned_node() {
  toolchain="$HEARTH_AND_KEEP_CACHE/toolchain-$(fingerprint "$root/scripts/toolchain/package-lock.json")"
  if [ ! -d "$toolchain" ]; then
    command -v npm >/dev/null || { log "Cannot download Node.js: install npm first (apt-get install npm)"; exit 1; }
    log "Downloading the pinned Node.js into $toolchain"
    # Installed in a temporary folder and renamed, so that no other run sees an incomplete toolchain.
    fresh=$(mktemp -d "$HEARTH_AND_KEEP_CACHE/toolchain.XXXXXX")
    cp "$root/.npmrc" "$root/scripts/toolchain/package.json" "$root/scripts/toolchain/package-lock.json" "$fresh/"
    (cd "$fresh" && npm ci --ignore-scripts --loglevel=error >&2)
    mv -T "$fresh" "$toolchain" 2>/dev/null || rm -rf "$fresh"
  fi
  PATH="$toolchain/node_modules/.bin:$PATH"
  export PATH
}

require_node_24() {
  if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 24 || (a == 24 && b >= 15) ? 0 : 1)' 2>/dev/null; then
    log "Node.js 24.15 or newer is required; install it by hand on this platform"
    exit 1
  fi
}

# Identifies the lock together with the packages that npm recorded as installed; either change triggers an install.
installed_from() { fingerprint "$root/package-lock.json" "$root/node_modules/.package-lock.json"; }

install_packages() {
  stamp="$root/node_modules/.installed-from"
  if [ "$(cat "$stamp" 2>/dev/null || true)" != "$(installed_from 2>/dev/null)" ]; then
    # The packages may already be complete, e.g. after a plain `npm ci`.
    if ! node "$root/scripts/is-installed.ts" "$root"; then
      log "Installing the locked packages"
      (cd "$root" && npm ci --loglevel=error >&2)
    fi
    installed_from > "$stamp"
  fi
}

needs_packages=yes
if [ "${1:-}" = --no-install ]; then
  needs_packages=no
  shift
fi
if [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; then use_pinned_node; else require_node_24; fi
if [ "$needs_packages" = no ]; then
  :
elif command -v flock >/dev/null; then
  # Two commands started at once in one clone must not install at the same time.
  lock="$HEARTH_AND_KEEP_CACHE/install-$(printf '%s' "$root" | sha256sum | cut -c1-16).lock"
  exec 9>"$lock"
  flock 9
  install_packages
  exec 9>&-
else
  install_packages
fi

[ $# -gt 0 ] || exit 0
program=$1
shift
exec node "$root/$program" "$@"
