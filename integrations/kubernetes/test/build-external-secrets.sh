#!/bin/sh
# Compiles a small program around the webhook provider of External Secrets Operator, as an independent client for tests:
#   sh build-external-secrets.sh FOLDER
# needs Go 1.25 or newer, 2 GB for Go's caches and a few minutes of two cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
operator=0.20.4
export GOFLAGS=-mod=mod CGO_ENABLED=0

mkdir -p "$folder/source"
cp "$here/fixtures/read-store.go.txt" "$folder/source/main.go"
cd "$folder/source"
# The operator itself replaces sprig by a copy with fewer functions.
cat >go.mod <<GO
module read-store

go 1.25.0

require github.com/external-secrets/external-secrets v$operator

replace github.com/Masterminds/sprig/v3 => github.com/external-secrets/sprig/v3 v3.3.0
GO
go mod tidy
go build -trimpath -ldflags "-s -w" -o "$folder/read-store" .
