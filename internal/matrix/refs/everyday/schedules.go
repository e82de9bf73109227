package everyday

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// schedule warns of a CronJob for days that no month of its schedule has, e.g. 31 February.
func (f *finder) schedule(o *bundle.Object) {
	var c batchv1.CronJob
	if !problem.Read(o, &c) || !never(c.Spec.Schedule) {
		return
	}
	p := problem.Of(o)
	p.Name, p.Text, p.Then = c.Spec.Schedule, "has the schedule "+strconv.Quote(c.Spec.Schedule)+", for days that none of its months has", "it never creates a Job"
	f.found = append(f.found, p)
}

// days are those of the months, at most.
var days = [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// never reports whether no day is of a schedule. One that also has days of the week runs on those.
func never(schedule string) bool {
	fields := strings.Fields(schedule)
	if len(fields) == 6 && (strings.HasPrefix(fields[0], "TZ=") || strings.HasPrefix(fields[0], "CRON_TZ=")) {
		fields = fields[1:]
	}
	if len(fields) != 5 || fields[4] != "*" && fields[4] != "?" {
		return false
	}
	least, ok := leastOf(fields[2])
	if !ok {
		return false
	}
	for m, longest := range days {
		if in, known := hasMonth(fields[3], m+1); in && least <= longest || !known {
			return false
		}
	}
	return true
}

// leastOf is the first day of a field, if it is a list of numbers and ranges.
func leastOf(field string) (least int, ok bool) {
	for _, part := range strings.Split(field, ",") {
		from, _, _ := strings.Cut(part, "/")
		from, _, _ = strings.Cut(from, "-")
		n, err := strconv.Atoi(from)
		if err != nil {
			return 0, false
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least, true
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// hasMonth reports whether a field is a list that has the month; it knows numbers and names only.
func hasMonth(field string, month int) (in, known bool) {
	for _, part := range strings.Split(field, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			n = slices.Index(months, strings.ToLower(part)) + 1
		}
		if n == 0 {
			return false, false
		}
		in = in || n == month
	}
	return in, true
}
