package texttemplate

import (
	"encoding/gob"
	"sync"
	"time"
)

// register makes the types known that values of YAML may have. An empty list comes out as an empty
// one without a type of its own, which no template can tell apart.
var register = sync.OnceFunc(func() {
	gob.Register(map[string]any{})
	gob.Register(map[any]any{})
	gob.Register([]any{})
	gob.Register(time.Time{})
})
