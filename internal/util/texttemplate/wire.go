package texttemplate

import (
	"encoding/gob"
	"sync"
	"time"
)

// register registers the types of YAML's values.
var register = sync.OnceFunc(func() {
	gob.Register(map[string]any{})
	gob.Register(map[any]any{})
	gob.Register([]any{})
	gob.Register(time.Time{})
})

// withEmpty makes lists that gob has decoded as nil empty ones, which toJson tells from null.
func withEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withEmpty(v[key])
		}
	case []any:
		if v == nil {
			return []any{}
		}
		for i := range v {
			v[i] = withEmpty(v[i])
		}
	}
	return v
}
