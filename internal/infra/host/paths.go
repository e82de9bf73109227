package host

import (
	"os"
	"path/filepath"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// CacheEnv overrides the cache directory.
const CacheEnv = "AICR_ACTION_CACHE"

// Paths are the directories that this program keeps on a machine.
type Paths struct {
	// Root of everything: $AICR_ACTION_CACHE, else the user's cache directory (XDG_CACHE_HOME on
	// Linux) + "aicr-action".
	Root string
}

// DefaultPaths follows the environment. Reason: USAGE.
func DefaultPaths(getenv func(string) string) (Paths, error) {
	if dir := getenv(CacheEnv); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Paths{}, reason.New(reason.Usage, "resolve %s=%q: %w", CacheEnv, dir, err)
		}
		return Paths{Root: abs}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return Paths{}, reason.New(reason.Usage, "find the user's cache directory: %w; set %s to a directory to use", err, CacheEnv)
	}
	return Paths{Root: filepath.Join(dir, "aicr-action")}, nil
}

// Stack is where built stacks are kept, one directory per content hash.
func (p Paths) Stack() string { return filepath.Join(p.Root, "stack") }

// Ports is where port locks are kept.
func (p Paths) Ports() string { return filepath.Join(p.Root, "ports") }

// Clusters is where clusters keep their state, one directory each.
func (p Paths) Clusters() string { return filepath.Join(p.Root, "clusters") }

// Images is where unpacked images are kept, one directory per digest.
func (p Paths) Images() string { return filepath.Join(p.Root, "images") }
