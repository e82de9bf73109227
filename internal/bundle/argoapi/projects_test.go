package argoapi

import "testing"

func TestProject(t *testing.T) {
	const here = "https://kubernetes.default.svc"
	p := &Project{
		SourceRepos:                []string{"https://example.com/team/*"},
		Destinations:               []Destination{{Server: here, Namespace: "team-*"}, {Name: "in-cluster", Namespace: "named"}},
		ClusterResourceWhitelist:   []Kind{{Group: "", Kind: "Namespace"}, {Group: "rbac.*", Kind: "*", Name: "team-*"}},
		NamespaceResourceBlacklist: []Kind{{Group: "", Kind: "ResourceQuota"}},
	}
	for name, c := range map[string]struct {
		got  string
		want bool // permitted
	}{
		"a source":                 {p.Source("https://example.com/team/apps.git"), true},
		"another source":           {p.Source("https://example.com/other/apps"), false},
		"a source one deeper":      {p.Source("https://example.com/team/a/b"), false},
		"a namespace":              {p.Destination(here, "", "team-a"), true},
		"another namespace":        {p.Destination(here, "", "default"), false},
		"another cluster":          {p.Destination("https://example.com", "", "team-a"), false},
		"a cluster by its name":    {p.Destination("", "in-cluster", "named"), true},
		"of which cluster is that": {p.Destination("", "in-cluster", "team-a"), true},
		"a kind":                   {p.Resource("apps", "Deployment", "web", true), true},
		"a kind, denied":           {p.Resource("", "ResourceQuota", "q", true), false},
		"of the cluster":           {p.Resource("", "Namespace", "a", false), true},
		"of the cluster, by name":  {p.Resource("rbac.authorization.k8s.io", "ClusterRole", "team-a", false), true},
		"of the cluster, another":  {p.Resource("rbac.authorization.k8s.io", "ClusterRole", "admin", false), false},
		"a definition":             {p.Resource("apiextensions.k8s.io", "CustomResourceDefinition", "a", false), false},
	} {
		if (c.got == "") != c.want {
			t.Errorf("%s: got %q", name, c.got)
		}
	}
	// What denies one permits all others, as in Argo CD.
	p = &Project{SourceRepos: []string{"!https://example.com/team/secret"}, Destinations: []Destination{{Server: here, Namespace: "!team-x"}}}
	if p.Source("https://example.com/team/secret.git") == "" || p.Destination(here, "", "team-x") == "" {
		t.Error("what is denied is permitted")
	}
	if got := p.Source("https://example.com/a/b") + p.Destination(here, "", "team-a"); got != "" {
		t.Errorf("what is not denied: got %q", got)
	}
	p.NamespaceResourceWhitelist = []Kind{{Group: "", Kind: "ConfigMap"}}
	if p.Resource("", "ConfigMap", "a", true) != "" || p.Resource("", "Secret", "a", true) == "" {
		t.Error("a list of what is permitted: got the other way round")
	}
}
