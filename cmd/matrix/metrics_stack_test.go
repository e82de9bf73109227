package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMetrics reads the metrics of a run of workflows and of a run of a cell while they go on.
func TestMetrics(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	for name, c := range map[string]struct {
		args []string
		want []string // patterns that one answer must have, all of them
	}{
		"workflows": {[]string{"workflow", "run", "../../workflows/nodes.yaml", "../../workflows/jobs.yaml"}, []string{
			`aicr_placement_gpus{scope="workflows"} 64`, `aicr_placement_gpus_taken{scope="workflows"} 64`, `aicr_placement_pods{scope="workflows",state="placed"} 8`,
			`aicr_placement_pods{scope="workflows",state="waiting"} 4`, `aicr_placement_gangs{placed="whole",scope="workflows"} 2`, `aicr_placement_gangs{placed="none",scope="workflows"} 1`,
			`aicr_placement_domain_pods{domain="rack-1",kind="block",scope="workflows"} 4`, `aicr_placement_time_to_schedule_seconds_count{scope="workflows"} 8`,
			`aicr_placement_job_distance_count{scope="workflows"} 2`, `aicr_workflow_tasks{status="running"} 1`,
		}},
		"cells": {[]string{"run", "eks", "-d", "helm"}, []string{
			`aicr_cells{status="running"} 1`, `aicr_cells{status="waiting"} 0`, `aicr_placement_gpus{scope="eks/helm"} 32`, `aicr_placement_node_pods{node="accelerated-0",scope="eks/helm"} [1-9]`,
			`aicr_placement_time_to_schedule_seconds_count{scope="eks/helm"} [1-9]`, `aicr_step_duration_seconds_count{step="cluster"} 1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pr := p.start(t, nil, append(c.args, "--metrics", "0")...)
			pr.until(t, "metrics: http://127.0.0.1:")
			url := regexp.MustCompile(`metrics: (http://127\.0\.0\.1:\d+/metrics)\n`).FindStringSubmatch(pr.stderr.String())
			if url == nil {
				t.Fatalf("no address in\n%s", pr.stderr)
			}
			var last []byte
			eventually(t, "the metrics of a run", 10*time.Minute, func() error {
				response, err := http.Get(url[1])
				if err != nil {
					select {
					case <-pr.done:
						t.Fatalf("the run ended before; the last answer:\n%s\nstderr:\n%s", last, pr.stderr)
					default:
						return err
					}
				}
				defer func() { _ = response.Body.Close() }()
				raw, err := io.ReadAll(response.Body)
				if err != nil {
					return err
				}
				last = raw
				for _, want := range c.want {
					if !regexp.MustCompile("(?m)^" + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want)).Match(raw) {
						return fmt.Errorf("lacks %s in\n%s", want, raw)
					}
				}
				return nil
			})
			pr.wait(t, 10*time.Minute)
			pr.want(t, 0)
			if _, err := http.Get(url[1]); err == nil {
				t.Error("the metrics are served after the run's end")
			}
		})
	}
}
