package run

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Quick writes are all made. Of slow ones the newest is, a while later, and none after the end.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []int
		took := 50 * time.Millisecond
		p := &paced[int]{write: func(n int) { time.Sleep(took); written = append(written, n) }}
		want := func(what string, n ...int) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(written, n) {
				t.Errorf("%s: written %v, want %v", what, written, n)
			}
			written = nil
		}
		for n := range 3 {
			p.give(n)
		}
		want("quick", 0, 1, 2)
		took = time.Second
		for n := range 100 {
			p.give(n)
		}
		want("slow", 0)
		time.Sleep(writeRest*took - time.Nanosecond)
		want("resting")
		time.Sleep(2 * took)
		want("rested", 99)
		time.Sleep(time.Hour)
		want("nothing new")
		p.give(100)
		p.give(101)
		p.stop()
		time.Sleep(time.Hour)
		want("stopped", 100)
	})
}
