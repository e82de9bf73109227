// Command registry is the Distribution registry with storage on disk and no other: the clients of
// three clouds that the full program links take minutes to compile, and no Kind cluster asks for
// them.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil { // it has printed the error
		os.Exit(1)
	}
}
