package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// shardOf keeps the cells of one shard, "2/4" for the second of four; "" keeps all. By what they
// took in earlier runs, shards end at about the same time; without that they have as many recipes
// as each other (durations.Book.Shares). Of cells that a change has chosen a shard may have none.
func shardOf(shard string, plans []matrix.Plan, chosen bool, book *durations.Book) ([]matrix.Plan, []report.Shard, error) {
	if shard == "" {
		return plans, nil, nil
	}
	var i, n int
	var rest string
	if got, _ := fmt.Sscanf(shard, "%d/%d%s", &i, &n, &rest); got != 2 || i < 1 || n < 1 || i > n || n > mostShards || shard != fmt.Sprintf("%d/%d", i, n) {
		return nil, nil, cli.Usagef("--shard %q: want a form such as 2/4, the second of four, of at most %d", shard, mostShards)
	}
	cells := make([]result.Cell, len(plans))
	for at, p := range plans {
		cells[at] = p.Cell
	}
	var mine []matrix.Plan
	division := sha256.New()
	for number, share := range book.Shares(cells, n) {
		for _, at := range share {
			_, _ = fmt.Fprintf(division, "%d %s\n", number, cells[at]) // a hash takes everything
			if number == i-1 {
				mine = append(mine, plans[at])
			}
		}
	}
	if len(mine) == 0 && !chosen {
		return nil, nil, cli.Usagef("--shard %s is empty: there are only %d cells", shard, len(plans))
	}
	return mine, []report.Shard{{Number: i, Of: n, Division: hex.EncodeToString(division.Sum(nil))}}, nil
}

// mostShards is more than any CI system has jobs; a number without a limit would be memory without
// one.
const mostShards = 10_000

// openCosts reads what cells took from results files of earlier runs; without one it knows nothing.
// Later files go before earlier ones.
func openCosts(paths []string) (*durations.Book, error) {
	book := durations.New()
	for _, path := range paths {
		earlier, err := report.Read(path)
		if err != nil {
			return nil, cli.Usagef("--costs %s: %w", path, err)
		}
		for _, r := range earlier.Results {
			book.Add(r)
		}
	}
	return book, nil
}
