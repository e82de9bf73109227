package main

import "testing"

func TestWhy_Usage(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no name":         {[]string{"why"}, "accepts 1 arg(s), received 0"},
		"no cluster":      {[]string{"why", "a/b"}, "there is no cluster to ask; `matrix run RECIPE --keep` leaves one"},
		"unknown cluster": {[]string{"why", "a/b", "--name", "x"}, `no cluster named "x"`},
		"old name":        {[]string{"why", "a/b", "--cluster", "x"}, `no cluster named "x"`},
		"two clusters":    {[]string{"why", "a/b", "--cluster", "x", "--kubeconfig", "y"}, "--kubeconfig and --name both name a cluster"},
		"no such file":    {[]string{"why", "a/b", "--kubeconfig", "/nonexistent/kubeconfig"}, "read kubeconfig /nonexistent/kubeconfig"},
		"output":          {[]string{"why", "a/b", "-o", "yaml"}, `--output "yaml": want table or json`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { invoke(t, nil, tc.args...).want(t, 2, tc.want) })
	}
}
