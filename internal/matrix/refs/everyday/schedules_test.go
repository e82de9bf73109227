package everyday

import "testing"

// A CronJob for a day that none of its months has is a warning (F137).
func TestNever(t *testing.T) {
	for schedule, want := range map[string]bool{
		"0 0 31 2 *": true, "0 0 30-31 feb *": true, "5 4 31 2,4,6,9,11 *": true, "0 0 31 APR ?": true, "TZ=UTC 0 0 31 2 *": true,
		"0 0 29 2 *": false, "0 0 31 2 1": false, "0 0 31 2,3 *": false, "0 0 31 */2 *": false, "0 0 * 2 *": false, "@daily": false, "0 0 1-31 2 *": false, "0 0 31 * *": false, "": false,
	} {
		if got := never(schedule); got != want {
			t.Errorf("%q: got %v, want %v", schedule, got, want)
		}
	}
}
