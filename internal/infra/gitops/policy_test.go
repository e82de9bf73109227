package gitops

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/health"
)

// Argo CD renders only with Helm, and only from the registry.
func TestArgoCDObjects_OnlyHelmFromRegistry(t *testing.T) {
	for _, o := range ArgoCDObjects(health.Policy{}) {
		if o.GetName() != "argocd-cm" {
			continue
		}
		data := o.Object["data"].(map[string]any)
		if schemes, set := data["helm.valuesFileSchemes"]; data["kustomize.enable"] != "false" || data["jsonnet.enable"] != "false" || !set || schemes != "" {
			t.Errorf("got %v", data)
		}
		return
	}
	t.Error("there is no argocd-cm")
}

// Every rule has a message that says what is rejected and why, and rejects when the API server
// cannot evaluate it.
func TestPolicies(t *testing.T) {
	for _, p := range []*Policy{ArgoCDPolicy("127.0.0.1:5500", ""), FluxPolicy("127.0.0.1:5500", "aicr-x", ""), ArgoCDPolicy("127.0.0.1:5500", gitURL), FluxPolicy("127.0.0.1:5500", "aicr-x", gitURL)} {
		policy, binding, err := p.objects()
		if err != nil {
			t.Fatal(err)
		}
		spec := policy.Object["spec"].(map[string]any)
		if spec["failurePolicy"] != "Fail" || binding.Object["spec"].(map[string]any)["policyName"] != policy.GetName() {
			t.Errorf("%s: got %v, %v", p.name, spec["failurePolicy"], binding.Object["spec"])
		}
		for _, v := range spec["validations"].([]any) {
			message, _ := v.(map[string]any)["messageExpression"].(string)
			if !strings.Contains(message, policyReason) || strings.Contains(message, "REASON") || strings.Contains(p.rules, "REGISTRY") || strings.Contains(p.rules, "GIT") || strings.Contains(p.rules, "BUNDLE") {
				t.Errorf("%s: the message of %v", p.name, v)
			}
		}
	}
}

// What a recipe says of a repository is part of an expression, and no more than a string in it.
func TestFluxPolicyOfRepositories(t *testing.T) {
	p := FluxPolicy("127.0.0.1:5500", "aicr-x", "", "https://a.example/charts", "oci://b.example", "https://c.example/'] || true || variables.url in ['", "https://d.example/\"x")
	if !strings.Contains(p.rules, "variables.url in dyn(['https://a.example/charts','oci://b.example'])") {
		t.Errorf("the rules are\n%s", p.rules)
	}
	if _, _, err := p.objects(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(FluxPolicy("127.0.0.1:5500", "aicr-x", "").rules, "variables.url in dyn([])") {
		t.Error("without repositories the list is not empty")
	}
}

const gitURL = "http://127.0.0.1:5500/aicr/x.git"

// Only with a Git repository do the controllers read Git, that one, and Flux's root is in it.
func TestPoliciesOfGit(t *testing.T) {
	for git, want := range map[string][2]string{
		"":     {"variables.url in dyn([])", "sourceRef.kind == 'OCIRepository'"},
		gitURL: {"variables.url in dyn(['" + gitURL + "'])", "sourceRef.kind == 'GitRepository'"},
	} {
		rules := FluxPolicy("127.0.0.1:5500", "aicr-x", git).rules
		for _, part := range want {
			if !strings.Contains(rules, part) {
				t.Errorf("%q: no %s in\n%s", git, part, rules)
			}
		}
		if strings.Contains(ArgoCDPolicy("127.0.0.1:5500", git).rules, gitURL) != (git != "") {
			t.Errorf("Argo CD, %q: the list of repositories", git)
		}
	}
}
