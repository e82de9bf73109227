package run

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Every cell is in exactly one shard, for any number of shards.
func TestShards(t *testing.T) {
	var plans []matrix.Plan
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		plans = append(plans, matrix.Plan{Cell: result.Cell{Recipe: name, Deployer: "helm"}})
	}
	for n := 1; n <= len(plans); n++ {
		seen := map[result.Cell]int{}
		for i := 1; i <= n; i++ {
			mine, _, err := shardOf(string(rune('0'+i))+"/"+string(rune('0'+n)), plans, false, durations.New())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range mine {
				seen[p.Cell]++
			}
			if len(mine) < len(plans)/n || len(mine) > len(plans)/n+1 {
				t.Errorf("shard %d/%d has %d of %d cells", i, n, len(mine), len(plans))
			}
		}
		for _, p := range plans {
			if seen[p.Cell] != 1 {
				t.Errorf("%d shards: %s is in %d of them", n, p.Cell, seen[p.Cell])
			}
		}
	}
	if all, _, err := shardOf("", plans, false, durations.New()); err != nil || len(all) != len(plans) {
		t.Errorf("no shard: got %d cells, %v", len(all), err)
	}
	for _, bad := range []string{"0/2", "3/2", "1", "1/0", "a/b", "1/2/3", " 1/2", "-1/2", "01/2", "8/8", "1/10001"} {
		if _, _, err := shardOf(bad, plans, false, durations.New()); reason.Of(err) != reason.Usage {
			t.Errorf("--shard %q: got %v, want it refused", bad, err)
		}
	}
	if mine, _, err := shardOf("8/8", plans, true, durations.New()); err != nil || len(mine) != 0 {
		t.Errorf("an empty shard of what a change has chosen: got %v, %v", mine, err)
	}
	if _, _, err := shardOf("9/8", plans, true, durations.New()); reason.Of(err) != reason.Usage {
		t.Errorf("--shard 9/8: got %v, want it refused", err)
	}
}

// merge misses a shard that no file has, and shards that were divided by other costs; all of them
// are a whole run.
func TestMerge_MissingShards(t *testing.T) {
	var plans []matrix.Plan
	for _, name := range []string{"a", "b", "c"} {
		plans = append(plans, matrix.Plan{Cell: result.Cell{Recipe: name, Deployer: "helm"}})
	}
	part := func(shard string, book *durations.Book) string {
		mine, shards, err := shardOf(shard, plans, false, book)
		if err != nil {
			t.Fatal(err)
		}
		var results []result.Result
		for _, p := range mine {
			results = append(results, result.Result{Cell: p.Cell, Verdict: result.Verdict{Status: result.Passed}, Started: time.Now()})
		}
		file := filepath.Join(t.TempDir(), report.FileName)
		if err := (report.Files{Results: file}).Write(&report.Report{Meta: report.Meta{RunID: shard, Shards: shards, Code: cli.CodeInReport}, Results: results}); err != nil {
			t.Fatal(err)
		}
		return file
	}
	slow := durations.New(result.Result{Cell: plans[1].Cell, Verdict: result.Verdict{Status: result.Passed}, Duration: time.Hour},
		result.Result{Cell: plans[0].Cell, Verdict: result.Verdict{Status: result.Passed}, Duration: time.Minute})
	one, two, other := part("1/2", durations.New()), part("2/2", durations.New()), part("2/2", slow)
	out := filepath.Join(t.TempDir(), report.FileName)
	for name, c := range map[string]struct {
		files []string
		code  int
		want  string
	}{
		"all":                    {[]string{one, two}, 0, ""},
		"one again":              {[]string{one, two, two}, 0, ""},
		"one is missing":         {[]string{one}, 2, "shard 2/2 is missing, and with it its cells"},
		"divided by other costs": {[]string{one, other}, 2, "shards 1/2 and 2/2 divide different cells, or by other --costs: a cell may be in none of them"},
	} {
		invoke(t, nil, append([]string{"merge", "-o", out}, c.files...)...).want(t, c.code, c.want)
		merged, err := report.Read(out)
		if err != nil || merged.Green() != (c.code == 0) {
			t.Errorf("%s: %v, green %t", name, err, merged.Green())
		}
		if again := invoke(t, nil, "merge", "-o", filepath.Join(t.TempDir(), "again.json"), out); c.code != 0 && again.code == 0 {
			t.Errorf("%s: merged once more, nothing is missing", name)
		}
	}
	invoke(t, nil, "report", one).want(t, 0) // a job reports its own shard
}
