package facts

// Answer is what an API server makes of an object.
type Answer struct {
	// Asked: it has answered. It does not where a kind or a namespace is not there, or something of the cluster failed.
	Asked bool
	// Refused is why it creates no such object; empty if it does. Field is the first one that it refuses, if it names one.
	Refused, Field string
	// Dropped are the fields that it does not keep, as kubectl explain writes them.
	Dropped []string
}
