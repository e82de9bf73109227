package bundle

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// argoHelmOCI makes a Helm chart, the wrapper, that renders the Applications. It is named after the
// recipe, so that it is published at …/aicr/<recipe>:<tag> like the other bundles, and installed as
// the release <recipe>-stack.
type argoHelmOCI struct{}

var _ Deployer = argoHelmOCI{}

func (argoHelmOCI) Name() string { return ArgoCDHelmOCI }

// WrapperRelease is the Helm release, in the namespace argocd, that the wrapper chart is installed
// as.
func WrapperRelease(recipeName string) string { return recipeName + "-stack" }

func (d argoHelmOCI) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if _, err := semver.StrictNewVersion(in.TargetRevision); err != nil {
			return fmt.Errorf("target revision %q is the version of a Helm chart here, and must be a semantic version such as %s: %w", in.TargetRevision, Tag(d.Name(), Revision(in)), err)
		}
		if err := checkApplicationNames(p, ArgoHelmApplication); err != nil {
			return err
		}
		if err := addWrapper(s, in); err != nil {
			return err
		}
		for i, r := range p.releases {
			if err := addWrapped(s, r, i, in.Project); err != nil {
				return err
			}
		}
		expectApplications(p, ArgoHelmApplication, e, nil)
		return nil
	})
}

// The words that stand for template actions while an Application is an object; addActions puts the
// actions in.
const (
	tokenRepoURL  = "@repoURL@"
	tokenRevision = "@targetRevision@"
	tokenValues   = "@values@"
)

func addWrapper(s *fileSet, in Input) error {
	name := RecipeName(in.Recipe)
	if err := s.addYAML("Chart.yaml", map[string]any{
		"apiVersion":  "v2",
		"name":        name,
		"version":     in.TargetRevision,
		"type":        "application",
		"description": fmt.Sprintf("The recipe %s as Argo CD Applications.", name),
	}); err != nil {
		return err
	}
	s.add("values.yaml", []byte(`# Where this chart is published, as Argo CD reaches it, e.g. oci://registry.example.com/aicr/`+name+`. Required.
repoURL: ""
# The version that it is published as. Required.
targetRevision: ""
# What the chart renders: root, the root Application; or children, an Application per release. The root Application sets
# children.
render: root
`))
	root := application(ArgoHelmApplication, ArgoNamespace, in.Project, map[string]any{
		"repoURL":        tokenRepoURL,
		"targetRevision": tokenRevision,
		"path":           ".",
		"helm": map[string]any{"valuesObject": map[string]any{
			"repoURL": tokenRepoURL, "targetRevision": tokenRevision, "render": "children",
		}},
	}, nil)
	text, err := addActions(root, "")
	if err != nil {
		return err
	}
	s.add("templates/root-application.yaml", []byte(`{{- if eq .Values.render "root" }}
`+text+`{{- else if ne .Values.render "children" }}
{{- fail (printf "render is %q; it must be root or children" (toString .Values.render)) }}
{{- end }}
`))
	return nil
}

// addWrapped adds one release to the wrapper. The template quotes the release's values from a file,
// so that Helm does not execute a value that looks like a template action.
func addWrapped(s *fileSet, r *release, wave int, project string) error {
	path := "local/" + r.Name
	app := childApplication(r, wave, project, tokenRepoURL, tokenRevision, path)
	valuesFile := ""
	if !r.Local && len(r.values) > 0 {
		valuesFile = "values/" + r.Name + ".yaml"
		s.add(valuesFile, r.valuesYAML)
		app["spec"].(map[string]any)["source"].(map[string]any)["helm"].(map[string]any)["valuesObject"] = tokenValues
	}
	text, err := addActions(app, valuesFile)
	if err != nil {
		return err
	}
	s.add("templates/children/"+r.Name+".yaml", []byte("{{- if eq .Values.render \"children\" }}\n"+text+"{{- end }}\n"))
	s.addDir(path, r.files)
	return nil
}

// addActions writes an Application as a template.
func addActions(app map[string]any, valuesFile string) (string, error) {
	raw, err := marshal(app)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(raw), "{{", `{{ "{{" }}`)
	required := func(key, example string) string {
		return fmt.Sprintf(`{{ required "%s is required: %s" .Values.%s | quote }}`, key, example, key)
	}
	return strings.NewReplacer(
		// The placeholder is quoted in YAML, since its first character is @.
		"'"+tokenRepoURL+"'", required("repoURL", "where this chart is published, as Argo CD reaches it, e.g. --set repoURL=oci://HOST/PATH/NAME"),
		"'"+tokenRevision+"'", required("targetRevision", "the version that this chart is published as, e.g. --set targetRevision=VERSION"),
		" '"+tokenValues+"'", fmt.Sprintf(`{{ .Files.Get %q | nindent 8 }}`, valuesFile),
	).Replace(text), nil
}
