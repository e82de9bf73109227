package matrix

import (
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// say adds what checks found to the result. The faults are for whoever fails the cell.
func (c *cellRun) say(r judge.Report) { r.Into(&c.result) }

// warn adds warnings of what a step has observed, without those that the user ignores.
func (c *cellRun) warn(found ...result.Finding) { c.say(c.bench.Warn(c.plan.Cell.Recipe, found)) }

// rule takes what the user ignores out of a failure that a step has observed and can go on after.
func (c *cellRun) rule(err error) error {
	r, err := c.bench.Rule(c.plan.Cell.Recipe, err)
	c.say(r)
	return err
}

// marked is a failure that ends the cell, its findings with their IDs.
func (c *cellRun) marked(err error) error {
	r, err := (&judge.Bench{}).Rule("", err)
	c.say(r)
	return err
}

// judgeSecond runs the checks of a delivery that came after another one.
func (c *cellRun) judgeSecond(d *facts.Delivery) error {
	x := facts.New(&c.env.Bundle.Expectation, c.env.Input.Components, nil, nil)
	x.Again, x.Delivery = true, d
	r, err := c.bench.Report(x, c.plan.Cell.Recipe, c.lane.Order(c.env), judge.Second)
	if c.say(r); err != nil {
		return err
	}
	return r.Err()
}
