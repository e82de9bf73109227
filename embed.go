// Package aicraction has the files that the binary carries along: its own recipes and the pins that
// are in no go.mod.
package aicraction

import "embed"

// Recipes has recipes/: recipes in the form that AICR has since v1.0.
//
//go:embed all:recipes
var Recipes embed.FS

// Settings is .settings.yaml.
//
//go:embed .settings.yaml
var Settings []byte

// Failures is docs/failures.md: stories of red cells, which `matrix explain` prints.
//
//go:embed docs/failures.md
var Failures string

// VirtualNodes is charts/virtual-nodes.
//
//go:embed all:charts/virtual-nodes
var VirtualNodes embed.FS
