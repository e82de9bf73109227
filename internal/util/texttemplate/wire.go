package texttemplate

import (
	"encoding/gob"
	"sync"
	"time"
)

// register registers the types of YAML's values. Gob decodes an empty list as an untyped empty one,
// which is the same for a template.
var register = sync.OnceFunc(func() {
	gob.Register(map[string]any{})
	gob.Register(map[any]any{})
	gob.Register([]any{})
	gob.Register(time.Time{})
})
