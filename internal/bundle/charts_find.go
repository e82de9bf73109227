package bundle

import (
	"context"
	"fmt"
)

// Find says whether Load would find the chart, without reading more of it than its Chart.yaml. The error is Load's.
func (s *fsCharts) Find(ctx context.Context, name, version string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.once.Do(s.index)
	if s.indexErr != nil {
		return fmt.Errorf("chart source %s: %w", s.name, s.indexErr)
	}
	if s.find(name, version) == nil {
		return s.notFound(name, version)
	}
	return nil
}
