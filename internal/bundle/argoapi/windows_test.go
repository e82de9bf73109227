package argoapi

import "testing"

func TestWindow(t *testing.T) {
	for name, c := range map[string]struct {
		w     Window
		isFor bool
		err   string
	}{
		"by name":        {Window{Schedule: "0 22 * * *", Duration: "1h", Applications: []string{"web-*"}}, true, ""},
		"of another":     {Window{Schedule: "0 22 * * *", Duration: "1h", Applications: []string{"api"}}, false, ""},
		"one of two":     {Window{Schedule: "0 22 * * *", Duration: "1h", Applications: []string{"api"}, Namespaces: []string{"web"}}, true, ""},
		"both of two":    {Window{Schedule: "0 22 * * *", Duration: "1h", Applications: []string{"api"}, Namespaces: []string{"web"}, UseAndOperator: true}, false, ""},
		"by its cluster": {Window{Schedule: "0 22 * * *", Duration: "1h", Clusters: []string{"prod"}}, true, ""},
		"with seconds":   {Window{Schedule: "0 0 22 * * *", Duration: "1h", Clusters: []string{"*"}}, true, `schedule "0 0 22 * * *": expected exactly 5 fields, found 6: [0 0 22 * * *]`},
		"a day":          {Window{Schedule: "0 22 * * *", Duration: "1d", Clusters: []string{"*"}}, true, `duration: time: unknown unit "d" in duration "1d"`},
		"for nothing":    {Window{Schedule: "0 22 * * *", Duration: "1h"}, false, ""},
	} {
		if got := c.w.IsFor("web-eu", LocalServer, "prod", "web"); got != c.isFor {
			t.Errorf("%s: it is for the Application: %v, want %v", name, got, c.isFor)
		}
		if err := c.w.Err(); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: got %v, want %q", name, err, c.err)
		}
	}
}
