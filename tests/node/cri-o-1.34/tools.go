//go:build tools

// Package tools names the program that tests/node/build.sh builds, so that `go mod tidy` keeps its modules.
package tools

import _ "github.com/cri-o/cri-o/cmd/crio"
