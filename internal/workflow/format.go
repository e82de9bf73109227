// Package workflow runs workflows: files in the format of NVIDIA Knavigator, which configure a
// cluster of virtual nodes, submit jobs to it and check the outcome. Read and Check find errors
// before there is a cluster; Engine runs the rest.
//
// It must not know recipes, bundles or lanes, or which platform made the cluster.
package workflow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// The types of tasks.
const (
	configure      = "Configure"
	registerObj    = "RegisterObj"
	submitObj      = "SubmitObj"
	updateObj      = "UpdateObj"
	checkObj       = "CheckObj"
	checkPod       = "CheckPod"
	checkConfigmap = "CheckConfigmap"
	deleteObj      = "DeleteObj"
	updateNodes    = "UpdateNodes"
	Sleep          = "Sleep"
	pause          = "Pause"
)

// taskTypes are all of them.
func taskTypes() []string {
	return []string{configure, registerObj, submitObj, updateObj, checkObj, checkPod, checkConfigmap, deleteObj, updateNodes, Sleep, pause}
}

// Workflow is one file.
type Workflow struct {
	File        string
	Name        string
	Description string
	// Stages are the KWOK stages that its pods need besides those of every workflow. Knavigator has
	// no such field.
	Stages []string
	// Schedulers are the shipped schedulers that it needs besides the default one.
	Schedulers []string
	// Controllers are the shipped controllers that it needs.
	Controllers []string
	// HalfPlacedAtMost, if set, is how long a job of several pods may have a node for some of them
	// and none for others. Knavigator has none of these three fields.
	HalfPlacedAtMost Duration
	Tasks            []*Task

	halfPlacedLine int
}

// Task is one task of a file.
type Task struct {
	ID, Type, Description string
	File                  string
	Line                  int

	params any // a pointer to one of the types below, by Type
}

// Problem is a mistake in a file.
type Problem struct {
	File string
	Line int
	// Task is the id of the task, "" for a mistake outside of tasks.
	Task, Type, Text string
}

func (p Problem) String() string {
	where := fmt.Sprintf("%s:%d: ", p.File, p.Line)
	if p.Task != "" || p.Type != "" {
		where += fmt.Sprintf("task %s (%s): ", p.Task, p.Type)
	}
	return where + p.Text
}

// Problems are mistakes in files; as an error they are a usage error, a line each.
type Problems []Problem

// Err returns nil without problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	var lines []string
	for _, one := range p {
		lines = append(lines, one.String())
	}
	return &reason.Error{Reason: reason.Usage, Err: errors.New(strings.Join(lines, "\n"))}
}

func (t *Task) problem(line int, format string, args ...any) Problem {
	if line == 0 {
		line = t.Line
	}
	return Problem{File: t.File, Line: line, Task: t.ID, Type: t.Type, Text: fmt.Sprintf(format, args...)}
}

// Duration is a time as Go writes it, e.g. 30s or 5m.
type Duration = yamlx.Duration

// The params of the tasks, as a file has them.
type (
	configureParams struct {
		Nodes              []VirtualNodeGroup  `yaml:"nodes"`
		Namespaces         []namespaceOp       `yaml:"namespaces"`
		ConfigMaps         []configMapOp       `yaml:"configmaps"`
		PriorityClasses    []priorityClassOp   `yaml:"priorityClasses"`
		DeploymentRestarts []deploymentRestart `yaml:"deploymentRestarts"`
		Timeout            Duration            `yaml:"timeout"`
	}
	namespaceOp struct {
		Name string `yaml:"name"`
		Op   string `yaml:"op"`
	}
	configMapOp struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Data      map[string]string `yaml:"data"`
		Op        string            `yaml:"op"`
	}
	priorityClassOp struct {
		Name  string `yaml:"name"`
		Value *int32 `yaml:"value"`
		Op    string `yaml:"op"`
	}
	deploymentRestart struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Labels    map[string]string `yaml:"labels"`
	}
	registerParams struct {
		Template      string `yaml:"template"`
		NameFormat    string `yaml:"nameFormat"`
		PodNameFormat string `yaml:"podNameFormat"`
		PodCount      string `yaml:"podCount"`
	}
	submitParams struct {
		RefTaskID string         `yaml:"refTaskId"`
		Count     *int           `yaml:"count"`
		CanExist  bool           `yaml:"canExist"`
		Params    map[string]any `yaml:"params"`
	}
	stateParams struct { // of updateObj and checkObj
		RefTaskID string         `yaml:"refTaskId"`
		Index     int            `yaml:"index"`
		State     map[string]any `yaml:"state"`
		Timeout   Duration       `yaml:"timeout"`
	}
	checkPodParams struct {
		RefTaskID  string            `yaml:"refTaskId"`
		Status     string            `yaml:"status"`
		NodeLabels map[string]string `yaml:"nodeLabels"`
		Timeout    Duration          `yaml:"timeout"`
	}
	checkConfigmapParams struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Data      map[string]string `yaml:"data"`
		Op        string            `yaml:"op"`
	}
	deleteParams struct {
		RefTaskID string `yaml:"refTaskId"`
	}
	updateNodesParams struct {
		Selectors []map[string]string `yaml:"selectors"`
		State     map[string]any      `yaml:"state"`
		Timeout   Duration            `yaml:"timeout"`
	}
	sleepParams struct {
		Timeout Duration `yaml:"timeout"`
	}
	pauseParams struct{}
)

// newParams returns the params of a type of task, nil for an unknown type.
func newParams(kind string) any {
	switch kind {
	case configure:
		return &configureParams{}
	case registerObj:
		return &registerParams{}
	case submitObj:
		return &submitParams{}
	case updateObj, checkObj:
		return &stateParams{}
	case checkPod:
		return &checkPodParams{}
	case checkConfigmap:
		return &checkConfigmapParams{}
	case deleteObj:
		return &deleteParams{}
	case updateNodes:
		return &updateNodesParams{}
	case Sleep:
		return &sleepParams{}
	case pause:
		return &pauseParams{}
	}
	return nil
}
