// Package ib holds the levers of InfiniBand and their prediction: the settings of each (port, SL), congestion control tables, the marking of
// switches, and virtual lanes.
package ib

import (
	"slices"
	"sync"

	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/sl"
)

// Compile compiles the levers of InfiniBand. prev is a compilation of the same flows and attachments, or nil.
func Compile(t model.Task, prev *Settings) (*Settings, *model.Outcome, error) {
	var s *Settings
	if prev != nil {
		s = settingsLike(t.Model, prev, t.Target)
	} else {
		placed, findings := sl.Place(t.Model)
		s = newSettings(t.Model, t.Target, placed)
		s.placementFindings = findings
	}
	if err := s.choosePortModes(); err != nil {
		return nil, nil, err
	}
	s.connect()
	s.chooseLevers()
	if err := s.chooseTables(); err != nil {
		return nil, nil, err
	}
	s.chooseCaps()
	s.explainTables()
	s.chooseLanes()
	var predicted model.Forecast
	var work sync.WaitGroup
	work.Go(func() { predicted = s.predict() })
	parts := s.plan(t.Before, t.Digests, t.Was)
	o := &model.Outcome{Findings: slices.Concat(s.placementFindings, s.leverFindings(), s.laneFindings()), Settle: s.settle()}
	work.Wait()
	s.prev = nil
	o.Predicted, o.Bounds = predicted.Allocation, s.bounds(predicted)
	o.Write = func(p *plan.Plan) {
		p.Lanes, p.Placements, p.CAs, p.Switches = parts.Lanes, parts.Placements, parts.CAs, parts.Switches
	}
	return s, o, nil
}
