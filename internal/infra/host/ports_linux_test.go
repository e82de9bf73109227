package host

import "testing"

// Two users of one machine, or two cache directories: what one has probed and given back to nobody
// is not free for the other, though nothing listens there yet.
func TestPorts_TwoUsers(t *testing.T) {
	mine, theirs := NewPorts(t.TempDir()), NewPorts(t.TempDir())
	got, err := mine.Take(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range got {
		if err := theirs.TakeExact(port); err == nil {
			t.Errorf("port %d went to both", port)
		}
	}
	mine.Release(got...)
	for _, port := range got {
		if err := theirs.TakeExact(port); err != nil {
			t.Errorf("after Release: %v", err)
		}
	}
}
