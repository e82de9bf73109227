package workflow

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A template of a workflow is untrusted: one that reads the machine, never ends, or is a file that
// is no template is rejected with the task's line before a cluster exists. The error prints no
// content of a file that it names.
func TestTemplates_Untrusted(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", "a secret of the job")
	job := func(name string) string { return strings.Replace(jobTemplate, `"{{._NAME_}}"`, name, 1) }
	for name, c := range map[string]struct{ text, template, want string }{
		"a variable":     {register + submit, job(`{{ env "AICR_TEST_TOKEN" }}`), `w.yaml:3: task register (RegisterObj): template does not parse: template: templates/job.yaml:3: function "env" not defined`},
		"in a name":      {strings.Replace(register, `"job{{._ENUM_}}"`, `'{{ env "AICR_TEST_TOKEN" }}'`, 1) + submit, jobTemplate, `nameFormat does not parse: template: nameFormat:1: function "env" not defined`},
		"in a pod count": {strings.Replace(register, `"{{.n}}"`, `'{{ getHostByName "localhost" }}'`, 1) + submit, jobTemplate, `podCount does not parse: template: podCount:1: function "getHostByName" not defined`},
		"growing":        {register + submit, job(`{{$s := "x"}}{{range 40}}{{$s = print $s $s}}{{end}}x`), `w.yaml:10: task job (SubmitObj): template: it does not render: templates/job.yaml: it takes more than 512 MiB of memory`},
		"variables":      {strings.Replace(register, "templates/job.yaml", "/proc/self/environ", 1), "", "w.yaml:3: task register (RegisterObj): template /proc/self/environ: a template is a file that ends in .yaml, .yml, .tmpl or .tpl"},
		"a password":     {strings.Replace(register, "templates/job.yaml", "../../../../../../etc/passwd", 1), "", "a template is a file that ends in"},
	} {
		file := filepath.Join(written(t, map[string]string{"w.yaml": c.text, "templates/job.yaml": c.template}), "w.yaml")
		_, err := planOf(t, file)
		if err == nil || !strings.Contains(err.Error(), c.want) || reason.Of(err) != reason.Usage || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
}
