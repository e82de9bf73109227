// Package stack has no code. This module is a list of programs (the tool lines of its go.mod), and
// a module without any package is left out by what lists modules for a release: its SBOM would be
// that of one of its dependencies.
package stack
