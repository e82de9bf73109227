package action_test

import (
	"os"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// TestContainer: jobs with a container. github.action_path is a path outside of it, the checkout is
// of another user, and an image may have no git. The reusable workflow selects by what changed,
// which asks git, or by names, which does not.
func TestContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		testskip.Missing(t, "only root can give a checkout away, as a container has it")
	}
	bin := matrix(t)
	for name, test := range map[string]struct {
		inputs map[string]string
		git    bool
		want   map[string]string
		log    string
	}{
		"by what changed":       {map[string]string{"tier": "2"}, true, map[string]string{"plan": "success", "cells": "skipped", "report": "success"}, "nothing was checked"},
		"named":                 {map[string]string{"recipe": "eks", "deployer": "helm"}, true, map[string]string{"plan": "success", "cells": "success", "report": "success"}, "1 passed"},
		"without git":           {map[string]string{"tier": "2"}, false, map[string]string{"plan": "failure", "cells": "skipped", "report": "failure"}, "install git and put it on the PATH"},
		"named and without git": {map[string]string{"recipe": "eks", "deployer": "helm"}, false, map[string]string{"plan": "success", "cells": "success", "report": "success"}, "1 passed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRecipesRun(t, bin)
			s.asPullRequest()
			s.leaves("eks", result.Passed, "", "0", "42")
			s.container = true
			if !test.git {
				goes, _, _ := strings.Cut(strings.TrimPrefix(s.env[0], "PATH="), ":") // the go command that has the program already
				s.env = append(s.env, "PATH="+goes+":"+only(t, append(posix(), "chmod", "cp")...))
			}
			s.call(".github/workflows/recipes.yaml", test.inputs)
			s.want(test.want, test.log)
		})
	}
}
