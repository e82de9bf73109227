package main

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
)

// shardOf keeps the cells of one shard, "2/4" for the second of four; "" keeps all. Cells go round: shards differ by one cell at most, and
// neighbouring recipes, which cost alike, are spread. Of cells that a change has chosen a shard may have none.
func shardOf(shard string, plans []matrix.Plan, chosen bool) ([]matrix.Plan, error) {
	if shard == "" {
		return plans, nil
	}
	var i, n int
	var rest string
	if got, _ := fmt.Sscanf(shard, "%d/%d%s", &i, &n, &rest); got != 2 || i < 1 || n < 1 || i > n || shard != fmt.Sprintf("%d/%d", i, n) {
		return nil, cli.Usagef("--shard %q: want a form such as 2/4, the second of four", shard)
	}
	var mine []matrix.Plan
	for at, p := range plans {
		if at%n == i-1 {
			mine = append(mine, p)
		}
	}
	if len(mine) == 0 && !chosen {
		return nil, cli.Usagef("--shard %s is empty: there are only %d cells", shard, len(plans))
	}
	return mine, nil
}
