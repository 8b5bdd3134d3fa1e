#!/bin/sh
# Compiles etcd and kube-apiserver, for tests with tokens of a real cluster, from the modules of the Go proxy:
#   sh build-kubernetes.sh FOLDER
# needs Go 1.26 or newer, 4 GB for Go's caches and about ten minutes of two cores.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
kubernetes=1.36.3
etcd=3.7.3
export GOFLAGS=-mod=mod CGO_ENABLED=0

build() { # name of the program, flags of the linker; main.go on standard input
  mkdir -p "$folder/source/$1"
  cd "$folder/source/$1"
  cat >main.go
  printf 'module %s\n\ngo 1.26.0\n\n%s\n' "$1" "$requirements" >go.mod
  go mod tidy
  go build -trimpath -ldflags "-s -w $2" -o "$folder/$1" .
}

requirements="require go.etcd.io/etcd/server/v3 v$etcd"
build etcd "" <<'GO'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
GO

# Kubernetes replaces its own libraries by folders of its repository; each is published as v0 of the same number.
cd "$folder"
module=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
libraries=$(sed -n 's|^[[:space:]]*\(k8s.io/[^ ]*\) => \./staging/.*|\1 => \1 v0.'"${kubernetes#1.}"'|p' "$module")
requirements="require k8s.io/kubernetes v$kubernetes

replace (
$libraries
)"
version=k8s.io/component-base/version
flags="-X $version.gitVersion=v$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=36"
build kube-apiserver "$flags" <<'GO'
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
GO
