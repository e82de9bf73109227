package health_test

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/kwok"
)

const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: HealthPolicy\nhealthy:\n"

func entry(changes ...string) string {
	text := "  - apiVersion: example.com/v1\n    kind: Thing\n    rule: exists\n    reason: nobody writes it\n    link: https://example.com/why\n"
	return strings.NewReplacer(changes...).Replace(text)
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "health.yaml: EOF"},
		"not YAML":       {"a: [", "health.yaml:2: did not find"},
		"other document": {"apiVersion: v1\nkind: List\n", `health.yaml:1: it is "v1 List"`},
		"unknown field":  {head + entry() + "    namme: x\n", "health.yaml:9: field namme not found"},
		"wrong type":     {head + entry("nobody writes it", "[]"), "health.yaml:7: cannot unmarshal"},
		"twice":          {head + entry() + entry("/v1", "/v2"), "health.yaml:9: Thing.example.com is already on line 4"},
		"key twice":      {head + entry() + "    kind: Thing\n", "health.yaml:9: mapping key \"kind\" already defined at line 5"},
		"no kind":        {head + entry("kind: Thing", "kind: ''"), `health.yaml:4: apiVersion "example.com/v1" and kind ""`},
		"core kind":      {head + entry("example.com/v1", "v1", "Thing", "Pod"), "health.yaml:4: Pod in v1 is a built-in kind"},
		"built-in kind":  {head + entry("example.com/v1", "apps/v1", "Thing", "Deployment"), "Deployment in apps/v1 is a built-in kind"},
		"rule":           {head + entry("rule: exists", "rule: always"), `health.yaml:4: rule "always": want "exists"`},
		"no rule":        {head + entry("    rule: exists\n", ""), `rule ""`},
		"no reason":      {head + entry("    reason: nobody writes it\n", ""), `health.yaml:4: reason ""`},
		"no link":        {head + entry("https://example.com/why", "see there"), `health.yaml:4: link "see there"`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := health.Parse("health.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(p.Entries) > 0 {
				t.Errorf("got %v, %v; want an error with %q", p, err, c.want)
			}
		})
	}
}

func shipped(t *testing.T) health.Policy {
	t.Helper()
	data, err := kwok.Files.ReadFile("health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := health.Parse("kwok/health.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A kind has one answer: a stand-in operator, a stage, or the policy.
func TestPolicy_OneRulePerKind(t *testing.T) {
	stages, err := simulate.LoadOperatorStages(kwok.Files, "stages/operators")
	if err != nil {
		t.Fatal(err)
	}
	answered := map[schema.GroupKind]bool{}
	for _, gvk := range operators.Kinds() {
		answered[gvk.GroupKind()] = operators.WritesStatus(gvk)
	}
	for _, s := range stages {
		if answered[s.Kind.GroupKind()] {
			t.Errorf("%s has a stage and a stand-in of package operators", s.Kind)
		}
		answered[s.Kind.GroupKind()] = true
	}
	policy := shipped(t)
	for _, e := range policy.Entries {
		if answered[e.GroupKind()] {
			t.Errorf("%s is in the health policy although a stand-in writes its status", e.GroupKind())
		}
		if got, ok := policy.Find(e.GroupKind()); !ok || got != e {
			t.Errorf("Find(%s): got %v, %v", e.GroupKind(), got, ok)
		}
	}
	if _, ok := policy.Find(schema.GroupKind{Group: "example.com", Kind: "Thing"}); ok {
		t.Error("found a kind that is not in the policy")
	}
}

// The customizations are valid Lua that says Healthy, also with quotes and backslashes in the
// reason.
func TestArgoCD(t *testing.T) {
	odd, err := health.Parse("health.yaml", []byte(head+entry("nobody writes it", `'a "quoted" \ reason'`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []health.Policy{shipped(t), odd} {
		data := p.ArgoCD()
		if len(data) != len(p.Entries) {
			t.Errorf("%d customizations for %d entries", len(data), len(p.Entries))
		}
		for _, e := range p.Entries {
			key := "resource.customizations.health." + e.GroupKind().Group + "_" + e.Kind
			script, ok := data[key].(string)
			if !ok {
				t.Errorf("no %s", key)
				continue
			}
			state := lua.NewState(lua.Options{SkipOpenLibs: true}) // Argo CD gives a customization no libraries
			if err := state.DoString(script); err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			got, ok := state.Get(-1).(*lua.LTable)
			if !ok || got.RawGetString("status").String() != "Healthy" || got.RawGetString("message").String() != "health policy: "+e.Reason {
				t.Errorf("%s: got %v", key, state.Get(-1))
			}
			state.Close()
		}
	}
}
