package aicrcli

// answers.go has answers of a program that is asked each question once. It must not know who
// answers, or what is asked.

import (
	"context"
	"sync"
)

// Answers are those that were given. The zero value has none.
type Answers struct {
	mu sync.Mutex
	of map[string]*answer
}

type answer struct {
	turn  chan struct{} // of the one who asks
	text  []byte
	err   error
	given bool
}

// Get gives the answer to a question. ask gets it, unless it was given already; nobody else asks
// that question meanwhile. An error is an answer, too, unless it is that of a context which ended: the same
// question to the same program takes as long again, and fails again.
func (a *Answers) Get(ctx context.Context, question string, ask func() ([]byte, error)) ([]byte, error) {
	one := a.find(question)
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if one.given {
		return one.text, one.err
	}
	text, err := ask()
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	one.text, one.err, one.given = text, err, true
	return text, err
}

func (a *Answers) find(question string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*answer{}
	}
	one := a.of[question]
	if one == nil {
		one = &answer{turn: make(chan struct{}, 1)}
		a.of[question] = one
	}
	return one
}
