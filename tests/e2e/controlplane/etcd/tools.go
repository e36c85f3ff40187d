//go:build tools

// Package controlplane pins the etcd server that the end-to-end tests run.
package controlplane

import _ "go.etcd.io/etcd/server/v3"
