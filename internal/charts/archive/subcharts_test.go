package archive

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A dependency's version may be a range, and its directory may have any name: Helm asks only whether a chart of
// that name is there.
func TestLacking(t *testing.T) {
	t.Parallel()
	deps := "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n  - {name: other, version: 1.0.0}\n  - name: redis-ha # x\n    version: ^4.0.0\n    alias: cache\n"
	other := map[string]string{"web/charts/elsewhere/Chart.yaml": "name: other\nversion: 0.1.0\n"}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a range and an archive":     {files: map[string]string{"web/charts/redis-ha-4.33.1-rc.1.tgz": ""}},
		"a version with v":           {files: map[string]string{"web/charts/redis-ha-v4.33.1.tgz": ""}},
		"an archive without version": {files: map[string]string{"web/charts/redis-ha.tgz": ""}},
		"a directory":                {files: map[string]string{"web/charts/r/Chart.yaml": "name: redis-ha\n"}},
		"none":                       {files: map[string]string{"web/charts/redis-4.33.1.tgz": ""}, want: "web/Chart.yaml:6 redis-ha ^4.0.0"},
		"one of another name":        {files: map[string]string{"web/charts/redis-ha/Chart.yaml": "name: redis\n"}, want: "web/Chart.yaml:6 redis-ha ^4.0.0"},
		"a chart of the first version": {files: map[string]string{"web/charts/redis-ha.tgz": "", "web/requirements.yaml": "dependencies:\n  - name: db\n    version: 1.x\n"},
			want: "web/requirements.yaml:2 db 1.x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{"web/Chart.yaml": {Data: []byte(deps)}}
			for _, files := range []map[string]string{other, tt.files} {
				for file, content := range files {
					fsys[file] = &fstest.MapFile{Data: []byte(content)}
				}
			}
			m, err := LackingSubcharts(fsys, "web")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if m != nil {
				got = strings.Join([]string{m.File + ":" + string(rune('0'+m.Line)), m.Name, m.Version}, " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
