package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// codes lists cells as code, at most n of them.
func codes(cells []*result.Result, n int) string {
	var parts []string
	for i, c := range cells {
		if i == n {
			parts = append(parts, fmt.Sprintf("and %d more", len(cells)-n))
			break
		}
		parts = append(parts, mdtext.Code(c.Cell.String()))
	}
	return strings.Join(parts, ", ")
}
